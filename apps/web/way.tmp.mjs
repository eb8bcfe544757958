import { chromium } from "playwright-core"; import { readFileSync, mkdirSync, writeFileSync } from "node:fs"; import { createRequire } from "node:module";
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const { url, token } = JSON.parse(readFileSync("/tmp/webdev/data/cli.json", "utf8"));
const post = async (p) => (await fetch(`${url}/api/v1${p}`, { method: "POST", headers: { authorization: `Bearer ${token}`, "content-type": "application/json" }, body: "{}" })).json();
const folder = "/tmp/webdev/greeter"; mkdirSync(folder, { recursive: true });
writeFileSync(folder + "/package.json", JSON.stringify({ name: "greeter", scripts: { start: "node server.js" } }));
writeFileSync(folder + "/server.js", `const { createServer } = require("node:http");console.log("\\u001b[32mready\\u001b[0m to say " + process.env.GREETING);createServer((q, r) => r.end(process.env.GREETING ?? "nothing")).listen(process.env.PORT);`);
const b = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const c = await b.newContext({ baseURL: url, viewport: { width: 1280, height: 900 } }); const page = await c.newPage(); page.setDefaultTimeout(40000);
page.on("console", (m) => m.type() === "error" && console.log("CONSOLE", m.text().slice(0, 300))); page.on("pageerror", (e) => console.log("PAGEERROR", String(e)));
const step = (s) => console.log(new Date().toISOString().slice(11, 19), s);
try {
  const { code } = await post("/auth/links"); await page.goto(`/sign-in#code=${code}`); await page.getByText(/You are/).waitFor();
  const pw = page.getByLabel("Choose a password"); if (await pw.isVisible()) await pw.fill("a good long passphrase"); await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor(); step("signed in");
  await page.getByText("Live", { exact: true }).waitFor(); step("live");
  await page.screenshot({ path: "/tmp/webdev/w0.png" });
  await page.goto("/new/folder"); await page.locator("input[type=file]").setInputFiles(folder); await page.getByText("2 files").waitFor();
  await page.getByRole("button", { name: "Deploy", exact: true }).click(); await page.getByRole("heading", { name: /Deployment of/ }).waitFor();
  await page.getByText("Deployment finished", { exact: false }).waitFor(); step("deployed"); await page.screenshot({ path: "/tmp/webdev/w1.png" });
  const g = page.getByRole("link", { name: "greeter", exact: true }); await g.click(); await page.getByRole("tab", { name: "Variables" }).click();
  await page.getByRole("button", { name: "New variable" }).click(); await page.getByRole("textbox", { name: "Key" }).fill("GREETING"); await page.getByRole("textbox", { name: "Value" }).fill("good morning");
  await page.getByRole("button", { name: "Add variable" }).click(); await page.getByRole("button", { name: "GREETING", exact: true }).waitFor(); step("variable"); await page.screenshot({ path: "/tmp/webdev/w2.png" });
  await page.getByRole("button", { name: "Deploy now" }).click(); await page.getByRole("heading", { name: /Deployment of/ }).waitFor(); await page.getByText("Deployment finished", { exact: false }).waitFor(); step("redeployed");
  await g.click(); await page.getByRole("tab", { name: "Logs" }).click(); await page.getByText("to say good morning").waitFor(); step("log " + await page.locator(".sgr32").first().textContent()); await page.screenshot({ path: "/tmp/webdev/w3.png" });
  await page.getByRole("tab", { name: "Variables" }).click(); await page.getByRole("button", { name: "Edit as text" }).click(); await page.getByLabel("One KEY=value a line").fill("GREETING=good evening"); await page.getByRole("button", { name: "Save variables" }).click(); await page.getByRole("dialog").waitFor({ state: "detached" }); step("as text");
  await page.getByRole("tab", { name: "Deployments" }).click(); await page.getByRole("button", { name: "Roll back to this" }).first().click(); await page.getByText("Deployment finished", { exact: false }).waitFor(); step("rolled back"); await page.screenshot({ path: "/tmp/webdev/w4.png" });
  await g.click(); await page.getByRole("tab", { name: "Settings" }).click(); await page.getByRole("button", { name: "Delete with its data" }).click();
  await page.getByLabel("Type its name to confirm").fill("greeter"); await page.getByRole("dialog").getByRole("button", { name: "Delete with its data" }).click(); await page.getByRole("heading", { name: "Overview" }).waitFor(); step("deleted");
} catch (e) { console.log(String(e).slice(0, 800)); await page.screenshot({ path: "/tmp/webdev/fail.png" }); }
for (const [n, p] of [["overview", "/"], ["activity", "/team/activity"], ["account", "/account"], ["members", "/team"], ["compose", "/new/compose"], ["template", "/new/template"]]) {
  await page.goto(p); await page.waitForTimeout(2500); await page.screenshot({ path: `/tmp/webdev/z-${n}.png` }); await page.evaluate(axe);
  const r = await page.evaluate(() => axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"] })); for (const v of r.violations) console.log(n, v.id, v.nodes[0].html.slice(0, 160));
}
await b.close();
