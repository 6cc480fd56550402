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
        "GB": "en:Britain; en:Great Britain; de:Großbritannien; cs:Británie; cs:Velká Británie; "
        "fi:Britannia; fi:Iso-Britannia; et:Suurbritannia; lv:Lielbritānija; "
        "lt:Didžioji Britanija; "
        "ru:Британия; tr:Britanya; tr:İngiltere; zh:英国; ro:Marea Britanie",
        "KP": "en:DPRK; zh:朝鲜; ru:КНДР",
        "KR": "en:Republic of Korea; zh:韩国; ru:Южная Корея",
        "MK": "en:Macedonia",
        "NL": "en:Holland; de:Holland; cs:Holandsko; fi:Hollanti; et:Holland; ru:Голландия; "
        "tr:Hollanda",
        "RU": "en:Russian Federation; ru:РФ; ru:Российская Федерация; lv:Krievijas Federācija",
        "US": "und-Latn:USA; en:America; en:U.S.; en:U.S.A.; en:United States of America; "
        "de:Amerika; cs:Amerika; fi:Amerikka; ru:Америка; ru:США; lv:ASV; lt:JAV; tr:ABD; "
        "tr:Amerika; et:Ameerika; zh:美国; kk:АҚШ; ro:SUA; ro:America",
        "UN": "en:UN; en:United Nations; ru:ООН; cs:OSN; fi:YK; et:ÜRO; lv:ANO; lt:JTO; tr:BM; "
        "zh:联合国; de:UNO; de:UN; de:Vereinte Nationen; ro:ONU; kk:БҰҰ",
    }.items()
}
