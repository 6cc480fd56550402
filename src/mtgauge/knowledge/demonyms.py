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

SHORT_NAMES: dict[str, tuple[str, ...]] = {
    "AE": ("UAE",), "EU": ("EU",), "GB": ("Britain", "Great Britain"),
    "KP": ("DPRK",), "MK": ("Macedonia",), "NL": ("Holland",), "US": ("America", "USA", "U.S.", "U.S.A."),
    "KR": ("Republic of Korea",), "RU": ("Russian Federation",),
    "CN": ("People's Republic of China", "PRC"),
}  # fmt: skip
