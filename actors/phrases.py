"""The words that give a wall or a paywall away, as patterns; `judge.py` says when they count.

From vendors/bot-walls.md section 3 and vendors/paywalls.md sections 3 and 4 (read 2026-11). Texts are matched with
spaces collapsed. Companions ("already a subscriber?"), newsletter buttons and prose about subscriptions are left out
on purpose: they occur on thousands of open pages.
"""

from __future__ import annotations

import re


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


# Headings of challenge pages.
WALL_TITLE = _any(
    r"just a moment\.\.\.",
    r"just a moment…",
    r"attention required!",
    r"checking your browser",
    r"verifying (?:that )?you are human",
    r"verify (?:that )?you are (?:a )?human",
    r"enable javascript and cookies to continue",
    r"please enable js and disable any ad ?blocker",
    r"access to this page has been denied",
    r"pardon our interruption",
    r"access denied",
    r"making sure you(?:'|’)re not a bot!",
    r"are you a robot\?",
    r"robot or human\?",
    r"security check",
    r"ddos protection by",
    r"ddos-guard",
    r"vercel security checkpoint",
    r"client challenge",
    r"sucuri website firewall",
    r"blocked by network security",
    r"before you continue to (?:google|youtube)",
    r"login • instagram",
)

# What stands under such a heading.
WALL_BODY = _any(
    WALL_TITLE.pattern,
    r"enable (?:javascript|js|cookies)",
    r"(?:javascript|cookies) (?:is|are|must be) (?:disabled|required|enabled)",
    r"(?:press|click|activate) (?:and|&) hold",
    r"(?:confirm|prove|verify) (?:that )?you(?:'|’)?(?: a|’?'?)re (?:not a (?:robot|bot)|(?:a )?human)",
    r"review the security of your connection",
    r"you don(?:'|’)t have permission to access",
    r"unusual (?:traffic|activity)",
    r"the requested url was rejected",
    r"automated queries",
    r"complete the (?:captcha|security check|challenge)",
    r"solve the captcha",
    r"you have been blocked",
    r"(?:using|performing) (?:a )?security (?:service|verification)",
)

# Numbers that only a blocking service prints, and people who ask about it in a forum.
INCIDENT = _any(
    r"incapsula incident id", r"reference #18\.[0-9a-f]", r"ray id: ?[0-9a-f]{8,}", r"your support id is:? ?[0-9]{6,}"
)

# Where a consent, captcha or login page stands (bot-walls.md sections 2 and 4, instagram.md section 4).
WALL_ADDRESS = re.compile(
    r"https?://(?:(?:consent|cmp)\.[^/?#]+|[^/?#]*\bgoogle\.[^/?#]+/sorry/|[^/?#]+/showcaptcha\b"
    r"|(?:www\.|m\.)?instagram\.com/(?:accounts/login|challenge)\b)",
    re.IGNORECASE,
)

# What a page says when its content needs a script.
NEEDS_SCRIPT = _any(
    r"you need to enable javascript",
    r"please (?:enable|turn on) javascript",
    r"enable javascript to (?:run|use|view|continue)",
    r"requires javascript",
    r"work (?:properly |correctly )?without javascript",
    r"javascript (?:is|must be) (?:required|disabled|enabled|not enabled)",
    r"(?:включите|необходимо включить|требуется) javascript",
)

# Open pages that sound like paid ones: the footer of WordPress.com blogs, and comments kept for subscribers.
NOT_A_PAYWALL = _any(
    r"discover more from .{0,200}?subscribe now to keep reading and get access to the full archive\.?",
    r"(?:comentar|comentários?|comentarios?) (?:é|es|son|são) exclusivos? para (?:suscriptores|assinantes)",
    r"scroll to continue reading\.?",
)

STRONG_PAYWALL = _any(
    # English
    r"this post is for (?:paid|paying) subscribers",
    r"this article is exclusive to (?:\S+ ){0,5}subscribers",
    r"this content is reserved for (?:our )?(?:members|subscribers)",
    r"unlock this article",
    r"subscribe to continue reading",
    r"to continue reading,? (?:please )?(?:subscribe|log ?in|sign in)",
    r"to read the full story,? (?:please )?subscribe",
    # French
    r"il vous reste [\d.,]+ ?% de cet article à lire",
    r"pour lire la suite",
    r"article réservé aux abonnés",
    r"la suite est réservée aux abonnés",
    # German
    r"weiterlesen mit (?:\S+ ){0,4}\S*(?:abo|plus|\+)",
    r"mit (?:\S+ ){0,4}\S*(?:plus|\+) weiterlesen",
    r"exklusiv für abonnent(?:en|innen)",
    r"dieser artikel ist kostenpflichtig",
    # Spanish, Portuguese, Italian
    r"para seguir leyendo",
    r"contenido exclusivo para suscriptores",
    r"exclusivo para assinantes",
    r"assine para continuar lendo",
    r"riservato agli abbonati",
    r"per continuare a leggere",
    # Dutch, Swedish, Danish, Norwegian, Polish
    r"alleen voor abonnees",
    r"verder lezen\?",
    r"för att läsa vidare",
    r"kun for abonnenter",
    r"for å lese videre",
    r"aby przeczytać cały artykuł",
    r"tylko dla prenumeratorów",
    # Russian
    r"доступно только подписчикам",
    r"материал доступен по подписке",
    # Japanese, Chinese
    r"続きを読むには",
    r"会員限定",
    r"有料会員",
    r"残り ?[\d,]+ ?文字",
    r"订阅后继续阅读",
    r"付费阅读",
    r"剩余.{0,20}需付费",
)
