/** The look of the page: light or dark as the reader's system is, and on paper. */
export const STYLE = `
:root { color-scheme: light dark; --ground: #fff; --raised: #f4f6f8; --ink: #1b2227; --soft: #55626c; --line: #cfd6dc;
  --link: #0b57d0; --fail: #b3261e; --warn: #8a5300; --pass: #1b6e30; --skip: #55626c;
  --reached: #d5eedb; --missed: #fbe3df; }
@media (prefers-color-scheme: dark) { :root { --ground: #14181b; --raised: #1e2428; --ink: #e6eaed; --soft: #a3b0b9;
  --line: #3a444b; --link: #9ac2ff; --fail: #ff9d94; --warn: #f2c069; --pass: #86d79b; --skip: #a3b0b9;
  --reached: #1c4027; --missed: #55241f; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem 1rem 4rem; background: var(--ground); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.6rem; } h2 { margin: 2.5rem 0 .75rem; font-size: 1.2rem; }
a { color: var(--link); } p { margin: .5rem 0; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 3px; }
.skip { position: absolute; left: -99rem; } .skip:focus { position: static; }
.soft { color: var(--soft); } code, pre { font: .85rem/1.5 ui-monospace, monospace; }
pre { margin: .25rem 0 .75rem; padding: .6rem .75rem; overflow: auto; max-height: 22rem; background: var(--ground);
  border: 1px solid var(--line); border-radius: 4px; white-space: pre-wrap; overflow-wrap: anywhere; }
.facts { display: flex; flex-wrap: wrap; gap: .25rem 2rem; margin: .75rem 0; padding: 0; }
.facts div { display: flex; gap: .5rem; }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.state { font-weight: 700; }
.is-fail { color: var(--fail); }
.is-pass { color: var(--pass); }
.is-warn { color: var(--warn); }
.filters { display: flex; flex-wrap: wrap; gap: .5rem; margin: .5rem 0 1rem; }
button { font: inherit; padding: .3rem .8rem; color: inherit; background: var(--raised); border: 1px solid var(--line);
  border-radius: 99px; cursor: pointer; }
button[aria-pressed=true] { border-color: var(--link); box-shadow: inset 0 0 0 1px var(--link); font-weight: 600; }
.checks { list-style: none; margin: 0; padding: 0; border-top: 1px solid var(--line); }
.checks > li { border-bottom: 1px solid var(--line); }
.row, summary { display: flex; gap: .75rem; align-items: baseline; padding: .35rem .5rem; }
summary { cursor: pointer; }
summary::before { content: '+'; width: .8rem; color: var(--soft); }
[open] > summary::before { content: '-'; }
.row::before { content: ''; width: .8rem; }
.id { overflow-wrap: anywhere; }
.end { margin-left: auto; white-space: nowrap; }
.mark { flex: none; width: 8.5rem; font-weight: 600; color: var(--skip); }
[data-outcome=fail] > * .mark, [data-outcome=unexpected-pass] > * .mark { color: var(--fail); }
[data-outcome=warn] > * .mark, [data-outcome=expected-fail] > * .mark { color: var(--warn); }
[data-outcome=pass] .mark { color: var(--pass); }
.more { margin: 0 .5rem .75rem 2rem; padding: .5rem .9rem; background: var(--raised); border-radius: 6px; }
.more h3 { margin: .75rem 0 .25rem; font-size: .9rem; }
.sides { display: grid; grid-template-columns: 1fr 1fr; gap: 0 1rem; }
.table { overflow: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { padding: .25rem .5rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child { text-align: left; position: sticky; left: 0; background: var(--ground); } th { font-weight: 600; }
tr:last-child > * { border-bottom: 0; }
.reached { background: var(--reached); }
.missed { background: var(--missed); }
.legend dt { font-weight: 600; } .legend dd { margin: 0 0 .6rem; }
@media (max-width: 40rem) { .sides { grid-template-columns: 1fr; } .mark { width: auto; } }
@media print { .filters, .skip { display: none; } .checks > li { break-inside: avoid; } }
`
