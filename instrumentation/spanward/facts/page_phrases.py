# ruff: noqa: E501 -- lists of words in wide characters
"""What pages say that keep a tool out: login, block and error pages. Languages are data."""

from __future__ import annotations

from typing import Final

PAGE_TITLES: Final = (
    "just a moment", "attention required", "access denied", "access to this page has been denied", "forbidden",
    "unauthorized", "error", "not found", "page not found", "service unavailable", "bad gateway",
    "gateway time-out", "too many requests", "security check", "are you a robot", "captcha", "robot check",
    "human verification", "verify you are human", "pardon our interruption", "sign in", "log in", "login",
    "blocked", "request rejected", "anmelden", "anmeldung", "iniciar sesión", "se connecter", "connexion",
    "inloggen", "aanmelden", "bejelentkezés", "zugriff verweigert", "acceso denegado", "accès refusé", "登录",
    "登錄", "ログイン", "访问被拒绝", "entrar", "accedi",
)  # fmt: skip
"""What the title of a block, login or error page says before its first separator, with or without a status."""

PAGE_PHRASES: Final = (
    "you've been blocked by network security", "sorry, you have been blocked", "you have been blocked",
    "has been blocked by", "verify you are human", "verify that you are human", "confirm you are human",
    "confirm you're not a robot", "prove you are not a robot", "are you a robot?", "i'm not a robot",
    "complete the captcha", "solve the captcha", "complete the security check",
    "enable javascript and cookies to continue", "checking your browser before accessing",
    "checking if the site connection is secure", "unusual traffic from your", "automated access to this",
    "access to this page has been denied", "access to this site has been", "you don't have permission to access",
    "you do not have permission to access", "please log in to continue", "please sign in to continue",
    "log in to continue", "sign in to continue", "you must be logged in", "you need to be logged in",
    "you need to sign in", "please log in to", "please sign in to", "please enable cookies",
    "performance & security by cloudflare", "request could not be satisfied", "bitte melden sie sich an",
    "zugriff auf diese seite wurde", "bestätigen sie, dass sie ein mensch", "kein roboter", "inicie sesión para",
    "inicia sesión para", "verifique que es humano", "no soy un robot", "acceso a esta página",
    "veuillez vous connecter", "connectez-vous pour", "vérifiez que vous êtes humain", "je ne suis pas un robot",
    "log in om verder", "meld je aan om", "u moet ingelogd zijn", "ik ben geen robot", "jelentkezzen be a",
    "a folytatáshoz jelentkezz", "nem vagyok robot", "请先登录", "请登录", "登录后查看", "请完成验证",
    "请输入验证码", "安全验证", "您的访问被拒绝", "faça login para", "accedi per continuare",
    "ログインしてください", "ロボットではありません", "ロボットではない", "アクセスが制限", "人間であること",
    "访问过于频繁", "人机验证", "您是否是真人", "不是机器人", "滑动验证", "拖动滑块", "로봇이 아닙니다", "로봇이 아님",
    "접근이 차단", "접속이 차단", "로그인이 필요", "не робот", "доступ ограничен", "доступ заблокирован",
    "войдите, чтобы", "ungewöhnlichen datenverkehr", "sind kein roboter", "dass sie kein roboter",
    "loggen sie sich ein", "demuestra que no eres un robot", "no eres un robot", "tráfico inusual", "acceso bloqueado",
    "n'êtes pas un robot", "trafic inhabituel", "accès bloqué", "accès temporairement restreint",
    "não sou um robô", "não é um robô", "que você é humano", "acesso bloqueado", "tráfego incomum",
    "non sono un robot", "non sei un robot", "di essere umano", "accesso bloccato", "traffico insolito",
    "geen robot bent", "ongebruikelijk verkeer", "nem robot", "szokatlan forgal",
    "nie jestem robotem", "nie jesteś robotem", "dostęp zablokowany", "robot olmadığınızı", "erişiminiz engellendi",
    "performing security verification", "protect against malicious bots", "verifying you are human",
    "review the security of your connection", "this search was made by a human", "hold to confirm you are a human",
    "please enable js and disable any ad blocker", "incapsula incident", "blocked due to a network policy",
    "detected that javascript is disabled in this browser", "make sure you're not a robot", "not a bot",
    "let us know you're not a robot", "unusual activity from your computer network", "unusual activity from your network",
    "enter the characters you see below", "you are using automation tools to browse", "当前环境异常", "网络环境存在异常",
    "アクセスする権限がありません", "keine berechtigung, auf diese seite zuzugreifen",
    "no tiene permiso para acceder a esta", "n'avez pas l'autorisation d'accéder", "нет прав доступа", "а не робот",
    "não tem permissão para acessar esta", "non hai l'autorizzazione per accedere",
)  # fmt: skip
"""Sentences of block and login pages. They count in short texts only."""

SHORT_PAGES: Final = (
    "subscribe to continue reading", "subscribe to read", "read the full story, subscribe", "already a subscriber?",
    "sign in to see", "sign in to view", "log in to view", "log in to see", "sign in to confirm", "before you continue to",
    "sign in to slack", "forgot your password", "forgot password?", "session has expired", "session expired",
    "your session timed out", "need to enable javascript to run this app", "enable javascript to run this app",
    "enable javascript to continue", "javascript is not available", "javascript is required", "be right back",
    "undergoing scheduled maintenance", "under maintenance", "down for maintenance", "temporarily down",
    "browser is not supported", "browser is no longer supported", "unsupported browser", "doesn't have that page archived",
    "page you are looking for", "page you're looking for", "page you requested", "page can't be found",
    "page cannot be found", "page could not be found", "page doesn't exist", "page does not exist",
    "nothing was found at this location", "this is not the web page you", "you need access", "request access, or switch",
    "not available in your country", "not available in your region", "unavailable in your region",
    "unavailable for legal reasons", "content isn't available right now", "this content does not exist",
    "this content is no longer available", "sent too many requests", "seite wurde nicht gefunden",
    "seite existiert nicht", "page introuvable", "page demandée", "página no encontrada", "página não encontrada",
    "pagina niet gevonden", "pagina non trovata", "页面不存在", "页面未找到", "您访问的页面", "ページが見つかりません",
    "페이지를 찾을 수 없습니다", "страница не найдена", "az oldal nem található",
)  # fmt: skip
"""Sentences of pages that are not the one asked for. They count where there is hardly anything else."""

PAGE_STEMS: Final = (
    "robot", "captcha", "human", "blocked", "log in", "logged in", "sign in", "permission to access",
    "access to this", "denied", "unusual traffic", "cookies", "checking ", "security", "could not be satisfied",
    "meld", "zugriff", "mensch", "sesión", "acceso", "connecte", "humain", "ingelogd", "jelentkez", "登录", "验证",
    "访问", "faça login", "accedi ", "ログイン", "ロボット", "アクセス", "人間", "人机", "真人", "机器人", "滑", "로봇", "접근",
    "접속", "로그인", "робот", "доступ", "войдите", "datenverkehr", "robot", "loggen", "tráfico", "trafic", "accès",
    " bot", "bots", "ad blocker", "incapsula", "network policy", "javascript is disabled", "unusual activity",
    "characters you see", "automation tools", "环境", "berechtigung", "permiso", "autorisation", "permissão",
    "autorizzazione", "прав",
    "robô", "humano", "acesso", "tráfego", "umano", "accesso", "traffico", "toegang", "verkeer", "forgal", "dostęp",
    "engellendi",
)  # fmt: skip
"""Each of :data:`PAGE_PHRASES` contains one of these; a text without any of them needs no closer look."""
