# ruff: noqa: E501 -- wide characters and patterns that are read better in one piece
"""Wording of orders to a model, as it stands in results that were tampered with; data of ``spanward.facts.injection``.

Patterns are matched against lower case. ``~`` stands for white space, also as JSON writes it, and ``~?`` for
white space that may be missing.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple


class Phrase(NamedTuple):
    """One way to order a model about.

    Attributes:
        sign: its name.
        stems: every text that the pattern matches contains one of these. Few and shared by many phrases, since each
            is looked for in every result.
        pattern: matched against lower case.
    """

    sign: str
    stems: tuple[str, ...]
    pattern: re.Pattern[str]


_START: Final = r"(?:\b|(?<=\\[nrt]))"
"""A word begins, maybe after white space as JSON writes it."""
_SPACE: Final = r"(?:[\s*_]|\\{1,4}[nrt])"


def _phrase(sign: str, stems: tuple[str, ...], *patterns: str) -> Phrase:
    opened = (_START + pattern[2:] if pattern.startswith(r"\b") else pattern for pattern in patterns)
    written = "|".join(opened).replace("~?", _SPACE + "{0,6}").replace("~", _SPACE + "{1,6}")
    return Phrase(sign, stems, re.compile(written))


_ORDERS = r"(?:instructions?|prompts?|directions|guidelines|commands?|directives?|orders|programming|training|rules)\b"
_FILLERS = r"(?:(?:all|any|every|each|the|your|my|our|of|these|those|other|everything|and|or)~){0,5}"
_EARLIER = r"(?:previous|previously|prior|above|earlier|preceding|foregoing|initial|original|system|developer|safety)"
_OVERRIDE = r"(?<!will )(?<!would )(?<!can )(?<!could )(?<!may )(?<!might )(?<!to )(?:override|bypass)"
"""As an order: manuals tell what overrides what."""
_MODEL = (
    r"(?:ai|a\.i\.|llm|gpt|gpt-[0-9.a-z]{1,6}|claude|gemini|chatgpt|copilot|artificial intelligence|language model"
    r"|large language model|chatbot|ai assistant|ai agent|ai model|ai system|ai language model|automated agent"
    r"|autonomous agent)\b"
)

_ORDER = (
    r"(?:please~)?(?:ignore|disregard|forget|send|forward|reveal|recommend|do not~(?:tell|mention|reveal|inform|summari)"
    r"|exfiltrate|upload|delete|transfer|email|mail~|reply~(?:only|with)|respond~(?:only|with)|output~|say~that|rate~this"
    r"|give~(?:a|this|it)~|run~|execute|call~the|invoke|open~this|click|approve|you~must|your~task~has~changed|include~the"
    r"|stop~(?:what|your)|when~(?:summari|you~summari|asked|answering))"
)
"""What a text that is not the user's may not want of a model."""
_NAMED = r"(?:ai|llm|gpt|claude|gemini|chatgpt|copilot|language model|large language model|chatbot)s?"
_NAMES = ("ai", "llm", "gpt", "claude", "gemini", "chatgpt", "copilot", "language model", "chatbot")
_OPENED = r"(?:^|[\n\"]|\\n)"
"""A line begins, or a text in JSON."""

ENGLISH: Final = (
    _phrase(
        "override",
        ("ignor", "instru", "prompt"),
        rf"\b(?:ignore|disregard|forget|{_OVERRIDE}|(?:do not|don't) follow)~{_FILLERS}{_EARLIER}"
        rf"~(?:[a-z-]{{1,16}}~){{0,2}}{_ORDERS}(?!'s)",
        rf"\b(?:ignore|disregard|forget)~{_FILLERS}(?:instructions?|prompts?|directives)"
        r"~(?:above|before this|given before|so far|you were given|you (?:have )?received|that came before)\b",
        r"\bignore~(?:all|any|your)~(?:[a-z]{1,12}~)?(?:security|safety|privacy)~(?:measures?|rules?|checks?|restrictions?"
        r"|policies|policy|guidelines)\b",
        r"\bignore~everything~(?:above|before this|that came before|you were told|i (?:just )?said)\b",
    ),
    _phrase(
        "new_role",
        ("are now",),
        r"\byou~are~now~(?:dan\b|(?:in|running in|entering)~(?:a~)?(?:developer|debug|god|admin|maintenance|root"
        r"|unrestricted|jailbreak|dan)~mode|jailbroken|unrestricted|no longer bound|free (?:from|of) (?:all|any|your))",
    ),
    _phrase(
        "addressed",
        ("if you are a",),
        rf"\bif~you~are~(?:an?~)?{_MODEL}",
    ),
    _phrase(
        "takeover",
        ("before you can", "instru", "ignor"),
        r"\bbefore~you~can~(?:solve|complete|finish|continue with|answer|work on)~(?:the|my|your|this)~(?:[a-z]{1,12}~)?"
        r"(?:task|request|question)[^.]{0,80}\b(?:you~(?:must|need to|have to)|please)~(?:first~)?do~(?:the~)?following",
        r"\bimportant~message~from~me\b[^.\n]{0,40}\bto~you\b",
        r"\b(?:new|updated|real|actual|hidden|secret)~(?:system~|admin~|developer~)?instructions?~?(?:for you|to the ai"
        r"|for the (?:ai|assistant|model|agent))?:~?(?:you~(?:must|are|will|should)|ignore|do not|instead|send|reveal"
        r"|always|stop)\b",
        r"\b(?:system|admin|developer|security)~override:~?(?:you~(?:must|are|will|should)|ignore|do not|instead"
        r"|disregard|send|reveal|all~)",
        r"\b(?:system|admin)~instructions?~?(?:to|for)?~?(?:the~|all~|any~)?(?:ai|llm)?"
        r"~?(?:assistants?|agents?|models?)?:~?(?:you~(?:must|are now|will)|the~(?:ai|assistant|agent|model)~(?:must|should"
        r"|will|is))\b",
        r"\binstructions?~(?:to|for)~(?:the~|all~|any~)?(?:ai|llm)~?(?:assistants?|agents?"
        r"|models?)?[:!]~?(?:you~must|ignore|do not tell|do not mention|send|forward|reveal|recommend|say that|stop)\b",
    ),
    _phrase(
        "override",
        ("disregard ",),
        rf"\bdisregard~{_FILLERS}{_EARLIER}~(?:[a-z-]{{1,16}}~){{0,2}}{_ORDERS}(?!'s)",
    ),
    _phrase(
        "override",
        ("forget everything",),
        r"\bforget~everything~(?:you~(?:were~told|have been told|know|learned)|above|before)\b",
    ),
    _phrase("override", ("instruction override", "instructions override"), r"\binstructions?~override:~?[\"'a-z]"),
    _phrase(
        "addressed",
        ("if you read this",),
        rf"\b{_NAMED},~if~you~read~this\b",
    ),
    _phrase(
        "addressed",
        ("reading this:", "processing this:", "summarizing this:", "summarising this:"),
        rf"\b{_NAMED}(?:~(?:assistants?|agents?|models?))?~(?:reading|processing|summari[sz]ing)~this:~?{_ORDER}",
    ),
    _phrase(
        "addressed",
        tuple(
            f"{lead} {name}"
            for lead in ("note to", "note for", "attention", "attention all", "instruction to", "instruction for",
                         "instructions to", "instructions for")
            for name in ("ai", "llm", "gpt", "claude", "chatgpt", "language model")
        ),
        rf"\b(?:attention|notes?|instructions?)[,:]?~(?:(?:to|for)~)?(?:(?:all|any|every)~)?{_NAMED}"
        rf"(?:~(?:assistants?|agents?|models?|reviewers?|readers?|summari[sz]ers?))?[:!,.-]~?{_ORDER}",
    ),
    _phrase(
        "addressed",
        ("ai:",),
        rf"(?:<!--|[(\[{{])~?{_NAMED}:~?{_ORDER}",
    ),
    _phrase("takeover", ("your new instructions",), r"\byour~new~instructions~are\b"),
    _phrase(
        "takeover",
        ("hidden instruction", "secret instruction", "admin instruction"),
        r"\b(?:begin|start)(?:~of)?~(?:hidden|secret|admin)~instructions?\b",
    ),
    _phrase(
        "takeover",
        ("instruction for the", "instructions for the"),
        rf"\bimportant~instructions?~for~the~(?:ai~|llm~)?(?:assistants?|agents?|models?):~?{_ORDER}",
    ),
    _phrase(
        "takeover",
        ("when you read this",),
        r"\bwhen~you~read~this,?~(?:please~)?(?:call~(?:the~)?tool|run~the|send~(?:the|all)|execute|invoke"
        r"|use~the~(?:tool|function)|open~this~link)",
    ),
    _phrase(
        "takeover",
        ("you must first",),
        r"\byou~must~first~(?:send|upload|forward|email|post|read)~(?:me~)?(?:the~)?(?:contents?~of|all~(?:emails|files)"
        r"|password|credentials|api keys?|secrets|conversation|/etc/|~?~/\.ssh|\.env)",
    ),
    _phrase(
        "takeover",
        ("authorize you to", "authorise you to"),
        r"\bi~(?:hereby~)?authori[sz]e~you~to~(?:bypass|skip|ignore|disable|override)\b",
    ),
    _phrase(
        "takeover",
        ("been upgraded to", "been switched to"),
        r"\byou~have~been~(?:upgraded|switched)~to~(?:admin|developer|root|debug|god|unrestricted)~mode\b",
    ),
    _phrase(
        "takeover",
        ("from your developer",),
        r"\bfrom~your~developers?[:,.]~?(?:you~must~)?(?:disable|ignore|bypass|override|disregard)\b",
    ),
    _phrase(
        "takeover",
        ("now on you", "now on, you"),
        r"\bfrom~now~on,?~you~(?:will|must|shall)~(?:act~as~(?:root|admin|dan|an~unrestricted)|ignore|bypass|obey"
        r"|skip~(?:all~)?confirmation)",
    ),
    _phrase(
        "forged_markup",
        ("<system>", "<|system|>", "[inst]", "[system]"),
        r"(?:<system>|<\|system\|>|\[system\]:?|\[inst\])(?:[\s>|]|\\[nrt]){0,8}(?:override\b|ignore\b|disregard\b"
        r"|new~(?:instructions|rules)\b|forget\b|you~are~now\b|reveal\b|forward~all\b)",
    ),
    _phrase(
        "forged_markup",
        ("system: you must", "system: ignore", "system: disregard", "system: new instru"),
        rf"{_OPENED}[#*_ ]{{0,6}}system:~(?:you~must~now~(?:call|run|execute|send|transfer|delete|ignore|reply|output"
        r"|use)|ignore~|disregard~|new~instructions)",
    ),
    _phrase(
        "forged_markup",
        ("new system prompt", "updated system prompt", "real system prompt"),
        rf"{_OPENED}[#*_ ]{{1,8}}(?:new|updated|real)~system~prompt\b",
    ),
    _phrase(
        "forged_markup",
        ("human: ignore", "human: disregard", "user: ignore", "user: disregard"),
        rf"{_OPENED}(?:human|user):~(?:ignore~(?:that|the|all)|disregard~)",
    ),
    _phrase(
        "forged_markup",
        tuple(f"end of {what}" for what in ("document", "file", "input", "content", "result", "tool output")),
        r"\bend~of~(?:document|file|input|content|results?|tool~output)\b[^\na-z\\]{0,20}(?:\n|\\n){1,4}~?"
        r"(?:user|human|system|assistant):~",
    ),
    _phrase(
        "reveal_prompt",
        ("prompt", "instru"),
        r"\b(?:reveal|print|output|repeat|disclose|leak|send|forward|email|tell me|show me|write out)~(?:me~|us~)?"
        r"(?:(?:all|the|full|entire|complete|of|exact)~){0,4}your~(?:[a-z]{1,12}~)?(?:system prompt|initial prompt"
        r"|hidden prompt|initial instructions|original instructions|hidden instructions|secret instructions)\b",
    ),
    _phrase(
        "concealment",
        ("the user",),
        r"\b(?:do not|don't|never)~(?:tell|inform|alert|warn|mention (?:this|it|that) to|reveal (?:this|it|that) to|let)"
        r"~the~user~(?:about~(?:this|these|that)~(?:instructions?|message|step|action|request|transfer|change)"
        r"|(?:that~)?you~(?:did|have done|sent|were told|received|are doing)|know~(?:about~this|that~you))\b",
        r"\b(?:do not|don't|never)~(?:tell|inform|alert)~the~user~about~this[.,;]?~(?:instead|just|and~(?:send|upload|run))",
        r"\bthe~user~(?:also~)?(?:wants|asked|has~asked|has~authori[sz]ed|has~approved)~(?:for~)?(?:you~)?to~(?:also~)?"
        r"(?:delete|transfer|forward|wire|remove)[^.\n]{0,60}(?:do~it~now|without~(?:asking|confirm)|immediately)",
        r"\bwithout~(?:telling|informing|asking|alerting)~the~user\b[^.\n]{0,60}\b(?:send|forward|upload|delete|transfer"
        r"|exfiltrate)\b",
    ),
    _phrase(
        "forged_markup",
        ("<|im_start|>", "<important>", "<information>"),
        r"(?:<\|im_start\|>|<important>|<information>)(?:[\s>|]|\\[nrt]|<\|end_header_id\|>|system|user|assistant"
        r"|<system>){0,24}"
        r"(?:ignore|disregard|you~are~(?:unrestricted|no~longer|dan\b|jailbroken)|you~must~(?:first|now|always|immediately|not tell)|you~are~now|new~instruction"
        r"|do~not~(?:tell|inform|mention)|this~is~an~important~message|before~(?:using~this~tool|you~(?:do|can|answer))"
        r"|first~(?:send|read|forward|call|transfer)|instead~of~(?:answering|doing)|override)\b",
    ),
)  # fmt: skip
"""Orders in English, and markup; tried on every text."""

LATIN: Final = (
    _phrase(
        "override",
        ("ignor", "instru", "anweisung"),
        r"\b(?:ignorieren?(?:~sie)?|vergiss|vergessen~sie|missachten?(?:~sie)?)~(?:(?:alle|die|deine|ihre|sämtliche"
        r"|meine)~){0,3}(?:bisherigen|vorherigen|vorigen|früheren|obigen|vorangegangenen|ursprünglichen)"
        r"~(?:anweisungen|instruktionen|befehle|vorgaben|regeln|anordnungen)\b",
        r"\b(?:ignora|ignore|ignorad|olvida|olvide|descarta|descarte)~(?:(?:todas?|las|tus|sus|mis|de)~){0,3}"
        r"(?:instrucciones|indicaciones|órdenes|directrices|reglas)~(?:anteriores|previas|precedentes|iniciales"
        r"|del sistema)\b",
        r"\b(?:ignore[zr]?|oublie[zr]?|négligez)~(?:(?:toutes|les|tes|vos|mes)~){0,3}(?:instructions|consignes"
        r"|directives|règles)~(?:précédentes|antérieures|ci-dessus|initiales|du système)\b",
        r"\b(?:ignora|ignorate|ignorare|dimentica)~(?:(?:tutte|le|tue|vostre)~){0,3}(?:istruzioni|indicazioni|direttive)"
        r"~(?:precedenti|iniziali|del sistema)\b",
        r"\b(?:ignore|ignora|esqueça|desconsidere)~(?:(?:todas|as|suas|tuas|minhas)~){0,3}(?:instruções|orientações"
        r"|ordens|diretrizes)~(?:anteriores|prévias|iniciais|do sistema)\b",
        r"\b(?:zignoruj|ignoruj|zapomnij o)~(?:wszystkie~|wszystkich~)?(?:poprzednie|poprzednich|wcześniejsze)"
        r"~(?:instrukcj|poleceni)",
        r"\b(?:ignoruj|zapomeň na)~(?:všechny~)?(?:předchozí|předešlé)~(?:pokyny|instrukce)",
        r"\b(?:negeer|vergeet)~(?:(?:alle|de|je|jouw|uw)~){0,3}(?:eerdere|vorige|voorgaande|bovenstaande)~(?:instructies"
        r"|opdrachten|aanwijzingen|regels)\b",
    ),
)  # fmt: skip
"""Orders in other languages that can be spelled in ASCII; tried on every text."""

OTHER: Final = (
    _phrase(
        "override",
        (
            "utasítás", "talimat", "инструкц", "указани", "інструкці", "تعليمات", "निर्देश", "指",
            "提示", "命令", "規則", "规则", "プロンプト", "지시", "명령", "지침",
        ),
        r"\bhagyd?~(?:teljesen~)?figyelmen kívül~(?:[a-záéíóöőúüű]{1,12}~){0,3}utasítás",
        r"\bfelejtsd? el~(?:[a-záéíóöőúüű]{1,12}~){0,3}(?:korábbi|előző|eddigi)~utasítás",
        r"\b(?:önceki|yukarıdaki)~(?:tüm~)?(?:talimatlar|komutlar)[ıi]~(?:yok say|yoksay|görmezden gel|unut|dikkate alma)",
        r"(?:игнорируй(?:те)?|проигнорируй(?:те)?|забудь(?:те)?|не обращай(?:те)? внимания на)"
        r"~(?:(?:все|свои|твои|мои|эти)~){0,3}(?:предыдущие|прежние|прошлые|вышеуказанные|исходные)~(?:инструкции|указания"
        r"|команды|правила)",
        r"(?:ігноруй(?:те)?|забудь(?:те)?)~(?:усі~|всі~)?(?:попередні)~(?:інструкції|вказівки)",
        r"(?:تجاهل|انسَ?|انس)~(?:جميع~|كل~|كافة~)?(?:ال)?تعليمات~(?:ال)?سابقة",
        r"(?:पिछले|पहले के|उपरोक्त)~(?:सभी~)?(?:निर्देशों|आदेशों)~(?:को~)?(?:अनदेखा|नज़रअंदाज़|भूल)",
        r"(?:请|請|你必须|务必|現在|现在)?(?:忽略|无视|無視|忘记|忘記|不要理会|不要遵守|抛弃)(?:掉)?(?:你)?(?:所有|全部|一切)?(?:的)?"
        r"(?:之前|以前|先前|此前|以上|上述|上面|前面|早先|原有|系统|系統)(?:的)?(?:所有|全部|一切|任何)?(?:的)?"
        r"(?:指令|指示|提示词|提示|命令|规则|規則|要求|设定)",
        r"(?:以前|前|これまで|上記|先ほど|今まで)の(?:すべての|全ての|全)?(?:指示|命令|プロンプト|ルール)"
        r"(?:を|は)(?:すべて|全て)?(?:無視|忘れ)",
        r"(?:이전|위|앞선|기존)의?~?(?:모든~?)?(?:지시|명령|지침)(?:사항)?(?:들)?[을를]?~?(?:모두~?)?(?:무시|잊)",
    ),
    _phrase(
        "new_role",
        ("du bist jetzt", "ahora eres", "tu es maintenant", "你现在是", "你現在是", "ты теперь"),
        r"\bdu bist jetzt~(?:im~(?:entwickler|admin|debug)[- ]?modus|uneingeschränkt|dan\b)",
        r"\bahora eres~(?:dan\b|un modelo sin restricciones)|\btu es maintenant~(?:dan\b|sans (?:aucune )?restriction)",
        r"你[现現]在是(?:一个|一個)?(?:dan|不受限制|没有限制|开发者模式|開發者模式)|ты теперь~(?:dan|в режиме разработчика)",
    ),
    _phrase(
        "addressed",
        ("wenn du ein", "si eres un", "si tu es un", "如果你是", "если ты", "あなたがai"),
        r"\bwenn du ein(?:e)?~(?:ki|ai|llm|sprachmodell|künstliche intelligenz)\b",
        r"\bsi eres un(?:a)?~(?:ia|llm|inteligencia artificial|modelo de lenguaje|asistente de ia)\b",
        r"\bsi tu es un(?:e)?~(?:ia|llm|intelligence artificielle|modèle de langage|assistant ia)\b",
        r"如果你是(?:一个|一個)?(?:人工智能|ai|大语言模型|语言模型|大模型|智能助手)|если ты~(?:ии|языковая модель|нейросеть)"
        r"|あなたが(?:ai|人工知能|言語モデル)(?:なら|の場合|であれば)",
    ),
    _phrase(
        "reveal_prompt",
        ("systemprompt", "prompt del sistema", "prompt système", "系统提示", "系統提示", "системный промпт", "システムプロンプト"),
        r"\b(?:gib|verrate|zeige|nenne)~(?:mir~)?(?:bitte~)?deinen~(?:vollständigen~)?systemprompt",
        r"\b(?:revela|muestra|imprime|repite)~(?:me~)?(?:tu|el)~prompt del sistema|\b(?:révèle|affiche|répète)~ton~prompt"
        r" système",
        r"(?:输出|輸出|泄露|透露|显示|打印|告诉我|重复)你的(?:完整)?系[统統]提示",
        r"(?:раскрой|покажи|выведи)~(?:мне~)?(?:свой|твой)~системный промпт|システムプロンプトを(?:表示|出力|教え)",
    ),
    _phrase(
        "concealment",
        ("dem benutzer", "dem nutzer", "al usuario", "à l'utilisateur", "告诉用户", "告訴用戶", "告知用户", "пользователю"),
        r"\b(?:sag|sage|erzähl|erzähle|verrate)~(?:es~)?dem~(?:be)?nutzer~(?:nichts davon|nicht, dass du)",
        r"\bno~(?:se )?lo (?:digas|menciones)~al usuario|\bno (?:le )?digas~nada~de esto al usuario",
        r"\bne (?:le )?(?:dis|mentionne)~(?:rien de cela|pas cela)~à l'utilisateur",
        r"(?:不要|别|請勿|请勿)(?:把[^。]{0,8})?(?:告诉|告訴|告知)(?:用户|用戶)(?:这|此|你)|не говори~(?:об этом~)?пользователю~(?:об этом"
        r"|о том, что ты)",
    ),
)  # fmt: skip
"""Orders in other languages; tried on texts that are not ASCII."""
