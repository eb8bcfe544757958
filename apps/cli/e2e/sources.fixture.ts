/** A server that answers `text` at `/`, and its variable GREETING at `/greeting`. */
export const webServer = (text: string, script = ""): Readonly<Record<string, string>> => ({
  "package.json": JSON.stringify({ name: "@acme/web", scripts: { start: "node server.js" } }),
  "server.js": `${script}
require("node:http")
  .createServer((request, response) => response.end(request.url === "/greeting" ? process.env.GREETING ?? "none" : ${JSON.stringify(text)}))
  .listen(process.env.PORT, () => console.log("listening"));
`,
});

/** Its build prints `built 1`, `built 2`, ... every 50 ms, then ends with the code. */
export const slowBuild = (lines: number, exitCode = 0): Readonly<Record<string, string>> => ({
  ...webServer("slow"),
  "package.json": JSON.stringify({ name: "slow", scripts: { build: "node build.js", start: "node server.js" } }),
  "build.js": `
let n = 0;
const timer = setInterval(() => {
  console.log("built " + ++n);
  if (n < ${lines}) return;
  clearInterval(timer);
  if (${exitCode} !== 0) console.error("Error: no such module");
  process.exitCode = ${exitCode};
}, 50);
`,
});
