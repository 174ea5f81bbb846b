"""The style sheet of pages: light and dark, on paper, on narrow screens.

Colours are variables of the page, so that pictures within it follow. The fact a newcomer would get wrong:
pictures of `core.svg` bring colours for white paper; the last rules replace them.
"""

from __future__ import annotations

__all__ = ["STYLE"]

_LIGHT = (
    "--ink:#1b1f24;--soft:#57606a;--paper:#ffffff;--panel:#f5f7f9;--rule:#d0d7de;--accent:#0b5cad;"
    "--link:#446688;--box:#e8f1fb;--c1:#0b5cad;--c2:#b3541e;--c3:#1a7f37;--c4:#8250df;--c5:#9a6700;--c6:#bf3989"
)
_DARK = (
    "--ink:#e6edf3;--soft:#9aa6b2;--paper:#0f1419;--panel:#171d24;--rule:#38424d;--accent:#6cb6ff;"
    "--link:#7fa8d1;--box:#1d3350;--c1:#6cb6ff;--c2:#f0a06a;--c3:#57c26f;--c4:#c297ff;--c5:#e3b341;--c6:#f778ba"
)

STYLE = f"""
:root{{{_LIGHT};color-scheme:light dark}}
@media screen and (prefers-color-scheme:dark){{:root{{{_DARK}}}}}
*{{box-sizing:border-box}}
body{{margin:0;background:var(--paper);color:var(--ink);
 font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','Noto Sans CJK JP',sans-serif}}
header,main,footer{{max-width:70rem;margin:0 auto;padding:0 1rem}}
header{{padding-top:1.5rem}}
h1{{font-size:1.6rem;line-height:1.25;margin:0 0 .5rem;overflow-wrap:anywhere}}
h2{{font-size:1.3rem;margin:2.5rem 0 .5rem;padding-bottom:.25rem;border-bottom:1px solid var(--rule)}}
h3{{font-size:1.05rem;margin:1.5rem 0 .4rem;overflow-wrap:anywhere}}
p{{margin:.5rem 0;max-width:46rem;overflow-wrap:anywhere}}
a{{color:var(--accent)}}
nav ul{{list-style:none;padding:0;margin:.5rem 0;display:flex;flex-wrap:wrap;gap:.25rem 1rem}}
code,.rule{{font-family:ui-monospace,'SF Mono',Menlo,Consolas,'Noto Sans Mono',monospace;font-size:.92em}}
code{{overflow-wrap:anywhere}}
.soft,caption,figcaption{{color:var(--soft)}}
.note{{border-inline-start:4px solid var(--c5);padding:.25rem .75rem;background:var(--panel);max-width:46rem}}
.scroll{{overflow-x:auto;margin:.75rem 0}}
table{{border-collapse:collapse;font-variant-numeric:tabular-nums}}
caption{{text-align:start;font-size:.9rem;padding-bottom:.25rem}}
th,td{{text-align:start;padding:.2rem .8rem .2rem 0;vertical-align:top;border-bottom:1px solid var(--rule)}}
thead th{{color:var(--soft);font-weight:600;font-size:.9rem;vertical-align:bottom}}
tbody th{{font-weight:400}}
th.short{{white-space:nowrap}}
th.number,td.number{{text-align:end;white-space:nowrap}}
.bars .bar{{display:block;height:.45rem;background:var(--c1);min-width:1px;margin:.15rem 0;border-radius:1px}}
.bars .bar.second{{background:var(--c2)}}
.bars{{width:9rem;max-width:30vw}}
.cards .bars{{width:6rem}}
.tiles{{display:flex;flex-wrap:wrap;gap:.75rem;margin:1rem 0}}
.tile{{background:var(--panel);border:1px solid var(--rule);border-radius:6px;
 padding:.5rem .9rem;min-width:8rem}}
.tile b{{display:block;font-size:1.25rem}}
.tile span{{color:var(--soft);font-size:.9rem}}
.charts{{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(20rem,100%),1fr));
 gap:1rem;margin:1rem 0}}
.cards{{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(27rem,100%),1fr));gap:.5rem 2rem}}
.cards table{{width:100%}}
figure{{margin:0}}
.chart{{width:100%;height:auto;display:block}}
.chart text{{fill:var(--soft);font:11px system-ui,sans-serif}}
.chart .name{{fill:var(--ink);font-weight:600;font-size:12px}}
.chart .axis{{stroke:var(--rule);stroke-width:1}}
.chart .burn{{fill:var(--panel)}}
.chart polyline{{fill:none;stroke-width:1.4;stroke-linejoin:round}}
.chart circle{{stroke:none}}
.intervals{{max-width:34rem}}
.square{{max-width:26rem}}
.heat{{width:auto}}
.heat .frame{{fill:none;stroke:var(--rule)}}
.heat .more{{fill:var(--c2)}}
.heat .less{{fill:var(--c1)}}
main .scfg path{{stroke:var(--accent)}}
main .scfg path.arrow{{fill:var(--accent);stroke:none}}
.chart .interval{{stroke:var(--c1);stroke-width:3;stroke-linecap:round;stroke-opacity:.55}}
.chart .mark{{stroke:var(--c2);stroke-width:2}}
.chart .middle{{fill:var(--c1)}}
.legend span{{display:inline-block;width:1.2rem;height:.25rem;vertical-align:middle;
 margin-inline:.9rem .35rem}}
.pair{{border:1px solid var(--rule);border-radius:6px;padding:.6rem .9rem;margin:1rem 0;
 break-inside:avoid}}
.pair .columns{{display:flex;flex-wrap:wrap;gap:1rem 2rem;align-items:flex-start}}
.pair .columns>*{{max-width:100%;margin:.25rem 0}}
.pair .derivation{{flex:1 1 18rem;min-width:0}}
ul.tree,ul.tree ul{{list-style:none;margin:0;padding-inline-start:.9rem;
 border-inline-start:1px solid var(--rule)}}
ul.tree{{padding-inline-start:0;border:0}}
ul.tree li{{margin:.15rem 0}}
ul.tree .rule{{overflow-wrap:anywhere}}
.share{{display:inline-block;min-width:2.9rem;text-align:end;padding:0 .3rem;
 border-radius:3px;font-size:.8rem;
 background:linear-gradient(to right,var(--box) var(--of,100%),transparent var(--of,100%));
 border:1px solid var(--rule);font-variant-numeric:tabular-nums;margin-inline-end:.35rem}}
.other{{display:block;color:var(--soft);font-size:.85rem;padding-inline-start:3.4rem;overflow-wrap:anywhere}}
.grid text{{fill:var(--ink);font:13px system-ui,'Noto Sans CJK JP',sans-serif}}
.grid .cell{{fill:var(--paper);stroke:var(--rule);stroke-width:.7}}
.grid .linked{{fill:var(--link)}}
.grid .node{{fill:none;stroke:var(--c2);stroke-width:2}}
.changed{{font-weight:600;text-decoration:underline;text-decoration-color:var(--c2);text-underline-offset:.2em}}
.pictures{{display:flex;flex-wrap:wrap;gap:1rem 2rem;align-items:flex-end;margin:.75rem 0}}
.pictures figure{{max-width:100%;overflow-x:auto;text-align:center;break-inside:avoid}}
.pictures code{{display:block;max-width:30rem;text-align:start}}
details{{margin:.5rem 0}}
summary{{cursor:pointer;overflow-wrap:anywhere}}
dl{{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:.5rem 0}}
dt{{color:var(--soft)}}
dd{{margin:0;overflow-wrap:anywhere}}
footer{{margin:3rem auto 2rem;color:var(--soft);font-size:.9rem}}
main .scfg text{{fill:var(--ink)}}
main .scfg .score{{fill:var(--soft)}}
main .scfg rect{{fill:var(--box);stroke:var(--link)}}
@media (max-width:34rem){{
 body{{font-size:15px}}
 th,td{{padding-inline-end:.5rem}}
 table{{font-size:.88rem}}
 .cards .bars{{width:3.2rem}}
 dl{{grid-template-columns:1fr}}
 dt{{margin-top:.3rem}}
}}
@page{{margin:15mm}}
@media print{{
 body{{font-size:10pt}}
 header,main,footer{{max-width:none;padding:0}}
 nav{{display:none}}
 h2,h3{{break-after:avoid}}
 tr,.tile,figure{{break-inside:avoid}}
 .scroll{{overflow:visible}}
 table{{font-size:8.5pt}}
 .scroll svg,figure svg{{max-width:100%;height:auto}}
 .tile,.note,.bar,.share,.linked,.burn,.heat rect,.legend span{{print-color-adjust:exact;
 -webkit-print-color-adjust:exact}}
}}
""".strip()
