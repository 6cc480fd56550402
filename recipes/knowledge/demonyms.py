"""English words for the people and things of a country, by ISO 3166 code.

A language that says "Russia's economy" is often translated as "the Russian economy". These words
let an adjective support a match with the country; they are weak names, never counted alone.
"""

DEMONYMS: dict[str, tuple[str, ...]] = {
    code: tuple(words.split())
    for code, words in {
        "AE": "Emirati", "AF": "Afghan Afghans", "AL": "Albanian Albanians",
        "AM": "Armenian Armenians", "AR": "Argentine Argentinian Argentines Argentinians",
        "AT": "Austrian Austrians", "AU": "Australian Australians Aussie",
        "AZ": "Azerbaijani Azeri", "BA": "Bosnian Bosnians", "BD": "Bangladeshi",
        "BE": "Belgian Belgians", "BG": "Bulgarian Bulgarians", "BR": "Brazilian Brazilians",
        "BY": "Belarusian Belarusians", "CA": "Canadian Canadians", "CD": "Congolese",
        "CH": "Swiss", "CL": "Chilean Chileans", "CN": "Chinese", "CO": "Colombian Colombians",
        "CU": "Cuban Cubans", "CY": "Cypriot Cypriots", "CZ": "Czech Czechs",
        "DE": "German Germans", "DK": "Danish Danes Dane", "DZ": "Algerian Algerians",
        "EE": "Estonian Estonians", "EG": "Egyptian Egyptians", "ES": "Spanish Spaniard Spaniards",
        "ET": "Ethiopian Ethiopians", "EU": "European", "FI": "Finnish Finn Finns",
        "FR": "French Frenchman", "GB": "British Briton Britons Brit Brits English",
        "GE": "Georgian Georgians", "GR": "Greek Greeks", "HR": "Croatian Croat Croats",
        "HU": "Hungarian Hungarians", "ID": "Indonesian Indonesians", "IE": "Irish Irishman",
        "IL": "Israeli Israelis", "IN": "Indian Indians", "IQ": "Iraqi Iraqis",
        "IR": "Iranian Iranians", "IS": "Icelandic Icelander Icelanders",
        "IT": "Italian Italians", "JO": "Jordanian Jordanians", "JP": "Japanese",
        "KE": "Kenyan Kenyans", "KG": "Kyrgyz", "KH": "Cambodian Cambodians",
        "KP": "Korean Koreans", "KR": "Korean Koreans", "KW": "Kuwaiti Kuwaitis",
        "KZ": "Kazakh Kazakhs Kazakhstani", "LB": "Lebanese", "LT": "Lithuanian Lithuanians",
        "LU": "Luxembourgish", "LV": "Latvian Latvians", "LY": "Libyan Libyans",
        "MA": "Moroccan Moroccans", "MD": "Moldovan Moldovans", "ME": "Montenegrin Montenegrins",
        "MK": "Macedonian Macedonians", "MM": "Burmese", "MN": "Mongolian Mongolians",
        "MX": "Mexican Mexicans", "MY": "Malaysian Malaysians", "NG": "Nigerian Nigerians",
        "NL": "Dutch", "NO": "Norwegian Norwegians", "NP": "Nepalese Nepali",
        "PE": "Peruvian Peruvians", "PH": "Filipino Filipinos Philippine",
        "PK": "Pakistani Pakistanis", "PL": "Polish Pole Poles", "PS": "Palestinian Palestinians",
        "PT": "Portuguese", "QA": "Qatari Qataris", "RO": "Romanian Romanians",
        "RS": "Serbian Serb Serbs", "RU": "Russian Russians", "SA": "Saudi Saudis",
        "SD": "Sudanese", "SE": "Swedish Swede Swedes", "SG": "Singaporean Singaporeans",
        "SI": "Slovenian Slovene Slovenes", "SK": "Slovak Slovaks", "SO": "Somali Somalis",
        "SY": "Syrian Syrians", "TH": "Thai Thais", "TJ": "Tajik Tajiks",
        "TN": "Tunisian Tunisians", "TR": "Turkish Turk Turks", "TW": "Taiwanese",
        "UA": "Ukrainian Ukrainians", "US": "American Americans",
        "UZ": "Uzbek Uzbeks", "VE": "Venezuelan Venezuelans", "VN": "Vietnamese",
        "YE": "Yemeni Yemenis", "ZA": "African Africans", "ZW": "Zimbabwean Zimbabweans",
        "002": "African Africans", "142": "Asian Asians", "150": "European Europeans",
        "003": "American Americans",
    }.items()
}  # fmt: skip

# Names in daily use that CLDR's lists lack, as (language, name).
SHORT_NAMES: dict[str, tuple[tuple[str, str], ...]] = {
    territory: tuple((pair.split(":")[0], pair.split(":")[1]) for pair in text.split("; "))
    for territory, text in {
        "AE": "en:UAE",
        "CN": "en:PRC; en:People's Republic of China; zh:中华人民共和国; ru:КНР; cs:ČLR",
        "EU": "und-Latn:EU; en:European Union; ru:ЕС; ru:Евросоюз; lv:ES; lt:ES; tr:AB; et:EL; "
        "zh:欧盟; kk:ЕО",
        "GB": "en:Britain; en:Great Britain; en:UK; en:U.K.; en:GB; de:Großbritannien; "
        "cs:Británie; cs:Velká Británie; "
        "fi:Britannia; fi:Iso-Britannia; et:Suurbritannia; lv:Lielbritānija; "
        "lt:Didžioji Britanija; "
        "ru:Британия; tr:Britanya; tr:İngiltere; zh:英国; ro:Marea Britanie",
        "KP": "en:DPRK; zh:朝鲜; ru:КНДР; ru:Северная Корея",
        "KR": "en:Republic of Korea; zh:韩国; ru:Южная Корея",
        "MK": "en:Macedonia",
        "NL": "en:Holland; de:Holland; cs:Holandsko; fi:Hollanti; et:Holland; ru:Голландия; "
        "tr:Hollanda",
        "RU": "en:Russian Federation; ru:РФ; ru:Российская Федерация; lv:Krievijas Federācija",
        "US": "und-Latn:USA; en:US; en:America; en:U.S.; en:U.S.A.; en:United States of America; "
        "de:Amerika; cs:Amerika; fi:Amerikka; ru:Америка; ru:США; lv:ASV; lt:JAV; tr:ABD; "
        "tr:Amerika; et:Ameerika; zh:美国; kk:АҚШ; ro:SUA; ro:America",
        "UN": "en:UN; en:U.N.; en:United Nations; ru:ООН; cs:OSN; fi:YK; et:ÜRO; lv:ANO; "
        "lt:JTO; tr:BM; "
        "zh:联合国; de:UNO; de:UN; de:Vereinte Nationen; ro:ONU; kk:БҰҰ",
    }.items()
}

# Words for a country's people and its adjective where their beginning is not that of the country's
# name, and peoples that are written with a capital: weak names too, as (language, word).
PEOPLES: dict[str, tuple[tuple[str, str], ...]] = {
    territory: tuple((pair.split(":")[0], pair.split(":")[1]) for pair in text.split("; "))
    for territory, text in {
        "US": "cs:americký; cs:Američan; de:amerikanisch; de:Amerikaner; fi:amerikkalainen; "
        "fi:yhdysvaltalainen; et:ameeriklane; et:ameerika; lv:amerikāņu; lv:amerikānis; "
        "lt:amerikiečių; lt:amerikietis; ru:американский; ru:американец; tr:Amerikalı; "
        "tr:Amerikan; ro:american; kk:американдық",
        "GB": "cs:britský; cs:Brit; de:britisch; de:Brite; fi:brittiläinen; fi:britti; et:briti; "
        "lv:britu; lt:britų; ru:британский; ru:британец; tr:İngiliz; tr:Britanyalı; ro:britanic; "
        "kk:британдық",
        "DE": "cs:Němec; de:deutsch; de:Deutscher; fi:saksalainen; et:sakslane; lv:vācu; "
        "lv:vācietis; lt:vokiečių; lt:vokietis; ru:немецкий; ru:немец; tr:Alman; ro:german; "
        "kk:неміс",
        "FR": "cs:francouzský; cs:Francouz; de:französisch; de:Franzose; lt:prancūzų; tr:Fransız; "
        "ro:francez",
        "ES": "cs:Španěl; de:spanisch; de:Spanier; tr:İspanyol; ro:spaniol; lv:spāņu; ru:испанский",
        "IT": "cs:Ital; tr:İtalyan; de:Italiener; lt:italų",
        "RU": "cs:Rus; tr:Rus; lv:krievs; lt:rusas; et:venelane; fi:venäläinen; ru:российский; "
        "ru:русский; de:Russe; de:russisch; ro:rus; kk:орыс; kk:ресейлік",
        "CN": "cs:Číňan; tr:Çinli; fi:kiinalainen; et:hiinlane; lv:ķīniešu; lt:kinų; ru:китаец; "
        "de:Chinese; ro:chinez; kk:қытай",
        "CZ": "cs:český; cs:Čech; de:tschechisch; de:Tscheche; fi:tšekkiläinen; et:tšehh; "
        "lv:čehu; lt:čekų; ru:чешский; tr:Çek; ro:ceh",
        "GR": "cs:řecký; cs:Řek; de:griechisch; de:Grieche; lv:grieķu; tr:Yunan; ru:греческий; "
        "ru:грек; ro:grec",
        "NL": "cs:nizozemský; cs:holandský; cs:Nizozemec; de:niederländisch; de:holländisch; "
        "fi:hollantilainen; ru:голландский; tr:Hollandalı; ro:olandez",
        "PL": "cs:Polák; de:polnisch; de:Pole; tr:Polonyalı; tr:Leh; lt:lenkų; ru:польский",
        "HU": "cs:maďarský; cs:Maďar; de:ungarisch; tr:Macar; lt:vengrų; ru:венгерский; ro:maghiar",
        "FI": "cs:Fin; de:finnisch; fi:suomalainen; et:soomlane; lv:somu; lt:suomių; tr:Fin; "
        "ru:финский; ru:финн",
        "SE": "cs:Švéd; de:schwedisch; de:Schwede; lt:švedų; lv:zviedru; tr:İsveçli; ru:шведский",
        "DK": "cs:Dán; cs:dánský; de:dänisch; de:Däne; lv:dāņu; lt:danų; tr:Danimarkalı; "
        "ru:датский; ru:датчанин",
        "TR": "cs:Turek; tr:Türk; de:türkisch; de:Türke; ru:турецкий; ru:турок; lt:turkų; kk:түрік",
        "JP": "cs:Japonec; tr:Japon; de:japanisch",
        "KR": "cs:Jihokorejec; cs:Korejec; tr:Koreli",
        "UA": "cs:Ukrajinec; tr:Ukraynalı",
        "SK": "cs:Slovák",
        "AT": "cs:Rakušan; tr:Avusturyalı",
        "AU": "cs:Australan; tr:Avustralyalı",
        "IN": "cs:Ind; tr:Hint; tr:Hintli",
        "IE": "cs:Ir; tr:İrlandalı",
        "SY": "cs:Syřan; tr:Suriyeli",
        "IR": "cs:Íránec; tr:İranlı",
        "IQ": "cs:Iráčan; tr:Iraklı",
        "IL": "cs:Izraelec; tr:İsrailli",
        "KP": "cs:Severokorejec",
        "BR": "cs:Brazilec; tr:Brezilyalı",
        "CA": "cs:Kanaďan; tr:Kanadalı",
        "MX": "cs:Mexičan; tr:Meksikalı",
        "AF": "cs:Afghánec; tr:Afgan",
        "PT": "tr:Portekizli",
        "BE": "cs:Belgičan; tr:Belçikalı",
        "CH": "cs:Švýcar; tr:İsviçreli; de:schweizerisch",
        "150": "cs:Evropan; tr:Avrupalı; de:europäisch; de:Europäer; ru:европейский; "
        "fi:eurooppalainen; lv:Eiropas; lt:europietis",
    }.items()
}

# Short forms of countries in Chinese, which support a match and are never counted.
CHINESE_SHORT: dict[str, tuple[str, ...]] = {
    territory: tuple(names.split())
    for territory, names in {
        "CN": "我国 中方 访华 来华 在华 对华 赴华 中俄 中美 中加 中日 中韩 中英 中法 中德 中欧 "
        "中巴 中印 中澳 中柬 中缅 中越 中泰 中哈 中非 中国人",
        "US": "美方 访美 赴美 在美 对美 中美 美俄 美中 美韩 美日 美军 美籍",
        "RU": "俄方 访俄 在俄 对俄 中俄 美俄 俄美 俄中 俄军",
        "GB": "英方 访英 在英 中英 英镑 英军", "FR": "法方 访法 中法", "DE": "德方 访德 中德",
        "JP": "日方 访日 在日 中日 美日", "KR": "韩方 访韩 在韩 中韩 美韩",
        "CA": "加方 中加", "PK": "巴方 中巴", "IN": "印方 中印", "AU": "澳方 中澳",
        "KH": "柬方 中柬", "MM": "缅方 中缅", "VN": "越方 中越", "TH": "泰方 中泰",
        "EU": "欧方 中欧",
    }.items()
}  # fmt: skip

# The American states and the Chinese provinces in Chinese, by CLDR's code, which lacks them.
CHINESE_STATES: dict[str, tuple[str, ...]] = {
    f"cn{code}": (name,)
    for code, name in zip(
        "ah cq fj gd gs gx gz ha hb he hi hl hn jl js jx ln nm nx qh sc sd sn sx tj xj xz yn "
        "zj".split(),
        "安徽 重庆 福建 广东 甘肃 广西 贵州 河南 湖北 河北 海南 黑龙江 湖南 吉林 江苏 江西 辽宁 "
        "内蒙古 宁夏 青海 四川 山东 陕西 山西 天津 新疆 西藏 云南 浙江".split(),
        strict=True,
    )
} | {
    f"us{code}": tuple(names.split())
    for code, names in {
        "al": "阿拉巴马州 亚拉巴马州", "ak": "阿拉斯加州 阿拉斯加", "az": "亚利桑那州 亚利桑那",
        "ar": "阿肯色州", "ca": "加利福尼亚州 加利福尼亚 加州", "co": "科罗拉多州 科罗拉多",
        "ct": "康涅狄格州 康州", "de": "特拉华州", "dc": "华盛顿特区 哥伦比亚特区",
        "fl": "佛罗里达州 佛罗里达 佛州", "ga": "佐治亚州 乔治亚州", "hi": "夏威夷州 夏威夷",
        "id": "爱达荷州", "il": "伊利诺伊州 伊利诺斯州", "in": "印第安纳州",
        "ia": "艾奥瓦州 爱荷华州",
        "ks": "堪萨斯州", "ky": "肯塔基州", "la": "路易斯安那州", "me": "缅因州",
        "md": "马里兰州 马里兰", "ma": "马萨诸塞州 麻省", "mi": "密歇根州 密歇根",
        "mn": "明尼苏达州", "ms": "密西西比州", "mo": "密苏里州 密苏里", "mt": "蒙大拿州",
        "ne": "内布拉斯加州", "nv": "内华达州", "nh": "新罕布什尔州", "nj": "新泽西州 新泽西",
        "nm": "新墨西哥州", "ny": "纽约州", "nc": "北卡罗来纳州 北卡罗莱纳州",
        "nd": "北达科他州", "oh": "俄亥俄州", "ok": "俄克拉荷马州 俄克拉何马州", "or": "俄勒冈州",
        "pa": "宾夕法尼亚州 宾州", "ri": "罗得岛州", "sc": "南卡罗来纳州 南卡罗莱纳州",
        "sd": "南达科他州", "tn": "田纳西州", "tx": "得克萨斯州 德克萨斯州 得州 德州",
        "ut": "犹他州", "vt": "佛蒙特州", "va": "弗吉尼亚州", "wa": "华盛顿州",
        "wv": "西弗吉尼亚州", "wi": "威斯康星州", "wy": "怀俄明州",
    }.items()
}  # fmt: skip

# English words for what belongs to a state or province, by CLDR's code.
OF_STATES: dict[str, tuple[str, ...]] = {
    "gbsct": ("Scottish", "Scot", "Scots", "Scotsman"),
    "gbeng": ("English", "Englishman"),
    "gbwls": ("Welsh", "Welshman"),
    "usca": ("Californian", "Californians"),
    "ustx": ("Texan", "Texans"),
    "deby": ("Bavarian", "Bavarians"),
    "desn": ("Saxon",),
    "caqc": ("Quebecer", "Quebecers"),
}
