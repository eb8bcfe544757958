const escaped = (text) => text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);

export const page = ({ name, commit, node, uptimeSeconds }) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(name)} on Berth</title>
<link rel="icon" href="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><text y='13' font-size='13'>⚓</text></svg>">
<style>
  :root { color-scheme: light dark; --ink: #10243b; --soft: #5b6d82; --line: #d9e1ea; --ground: #f4f7fb; --card: #fff; --accent: #0b72d9; }
  @media (prefers-color-scheme: dark) {
    :root { --ink: #e8eef6; --soft: #93a4b8; --line: #26364a; --ground: #0d1621; --card: #14202e; --accent: #5cb0ff; }
  }
  * { box-sizing: border-box; }
  body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1.5rem; background: var(--ground); color: var(--ink); font: 1rem/1.6 system-ui, sans-serif; }
  main { width: min(34rem, 100%); background: var(--card); border: 1px solid var(--line); border-radius: 16px; padding: 2.25rem; box-shadow: 0 12px 40px rgb(10 30 60 / 10%); }
  h1 { margin: 0 0 .25rem; font-size: 1.75rem; line-height: 1.25; }
  p { margin: 0 0 1.5rem; color: var(--soft); }
  dl { display: grid; grid-template-columns: max-content 1fr; gap: .4rem 1.25rem; margin: 0 0 1.5rem; padding: 1rem 0; border-block: 1px solid var(--line); }
  dt { color: var(--soft); }
  dd { margin: 0; font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
  a, code { color: var(--accent); }
</style>
</head>
<body>
<main>
  <h1>⚓ ${escaped(name)} is running</h1>
  <p>Fetched, built, started, checked and routed by Berth.</p>
  <dl>
    <dt>Commit</dt><dd>${escaped(commit)}</dd>
    <dt>Runtime</dt><dd>Node.js ${escaped(node)}</dd>
    <dt>Up for</dt><dd>${uptimeSeconds} s</dd>
  </dl>
  <p style="margin:0">Its health is at <a href="/health">/health</a>. Deploy your own with <code>berth deploy</code>.</p>
</main>
</body>
</html>
`;
