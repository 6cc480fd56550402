"""Forty strings that must come out as text wherever they go in: names, sentences, column values.

Used by tests/report/test_hostile.py for the formats of text, and by the tests of the HTML pages.
Each stands on one line and is valid Unicode: it could be a file name or a sentence.
"""

from __future__ import annotations

HOSTILE: tuple[str, ...] = (
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<img src=x onerror=alert(3)>",
    "<svg/onload=alert(4)>",
    '"><b onmouseover="alert(5)">x</b>',
    "' onfocus='alert(6)' autofocus='",
    "javascript:alert(7)",
    "<!-- comment --><b>",
    "]]><evil/>",
    "<![CDATA[x]]>",
    "<?xml version='1.0'?>",
    '<!DOCTYPE x [<!ENTITY e "boom">]>&e;',
    "&lt;b&gt; &amp; &#60;",
    "&notanentity; &",
    "{{ 7 * 7 }} {% raw %}",
    "${7*7} #{7*7}",
    "%s %d %(x)s {0} {}",
    "a|b|c",
    "`code` ``two``",
    "[link](http://example.org/) ![image](x.png)",
    "# heading",
    "**bold** __strong__ ~~gone~~ *em*",
    "- item 1. item > quote",
    "@everyone #123 www.example.org",
    "\\input{/etc/passwd} \\write18{ls}",
    "\\end{tabular} & 100 % $x_1^2$ ~",
    "\\\\[2pt] \\hline",
    "=cmd|'/C calc'!A0",
    '=HYPERLINK("http://example.org";"click")',
    "+1+2 -3",
    "@SUM(A1:A9)",
    'a,"b",c;d',
    'quote " and \\" backslash',
    "tab\tinside",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07",
    "bell\x07 back\x08space delete\x7f",
    "\u202egnp.exe \u200bzero\u2066width\ufeff",
    "line\u2028separator\u2029 next\x85line",
    "cafe\u0301 ﬁ 𝕏 👩\u200d👩\u200d👧 \U0001f1e9\U0001f1ea",
    "中文 العربية עברית ไทย",
)
