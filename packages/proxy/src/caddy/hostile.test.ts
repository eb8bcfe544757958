import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Site } from "@berth/core/ports";
import { describeDocker } from "@berth/testing";
import { expect, it } from "vitest";
import { ask, site } from "../proxy.fixture.ts";
import { traefikConfig, traefikFile } from "../traefik/config.ts";
import { IMAGE, useCaddy } from "./caddy.fixture.ts";

const PAYLOADS = [
  "{env.PATH}",
  "{file./etc/passwd}",
  "\\{env.PATH\\}",
  "{{ env `PATH` }}",
  "`) || Host(`b.test",
  '"}],"handle":[{"handler":"static_response","body":"owned"}]',
  "$(touch /tmp/owned)",
  "`touch /tmp/owned`",
  "'; touch /tmp/owned #",
  "--config=/etc/passwd",
  "../../../etc/passwd",
  "a\r\nX-Injected: 1",
  "a\nhandle { respond owned }",
  "a\u0000b",
  "*",
  "*.test",
  "(.*)+$",
  "[::1",
  "\u202eabc\ufeff",
  "a".repeat(5000),
  "",
  " ",
  "ﬀ。ｔest",
  "{http.request.host}",
  "}",
  `$1$\{1}`,
];

/** Sites with the payload in every text field. */
const placed = (payload: string, index: number): readonly Site[] => [
  site(`name-${index}`, [], { name: payload }),
  site(payload, []),
  site(`host-${index}`, [], { routes: [{ host: payload, path: "/" }] }),
  site(`path-${index}`, [], { routes: [{ host: `path-${index}.test`, path: `/${payload}` }] }),
  site(`to-${index}`, [], { routes: [{ host: `to-${index}.test`, path: "/", redirectToHost: payload }] }),
  site(`user-${index}`, [], { basicAuth: { username: payload, password: payload } }),
  site(`header-${index}`, [], { requestHeaders: { "X-A": payload }, responseHeaders: { [payload]: payload } }),
];

describeDocker("values that are meant to become something else", [IMAGE], (docker) => {
  const front = useCaddy(docker);

  it("change nothing for other sites, and lead nowhere", async () => {
    const upstream = await front.upstream((_request, response) => response.end("mine"));
    const sites = PAYLOADS.flatMap(placed);
    await front.proxy.sync([...sites, site("b", [upstream])]);
    const { httpPort, folder } = front.options;
    expect((await ask(httpPort, { host: "b.test" })).text).toBe("mine");
    expect((await ask(httpPort, { host: "other.test" })).status).toBe(404);
    for (const [index, payload] of PAYLOADS.entries()) {
      const named = await ask(httpPort, { host: `name-${index}.test` });
      expect([named.status, named.text]).toEqual([503, `The application ${payload} is down.\n${HINT}`]);
      const redirected = await ask(httpPort, { host: `to-${index}.test` });
      expect([redirected.status, redirected.headers.location]).toEqual([503, undefined]);
      expect([401, 503]).toContain((await ask(httpPort, { host: `user-${index}.test` })).status);
      expect((await ask(httpPort, { host: `header-${index}.test` })).status).toBe(503);
    }
    // Only files inside the folder are written on the server.
    for (const name of ["run/slots", "sites"])
      for (const file of await readdir(join(folder, name))) expect(file).toMatch(/^[a-z0-9][a-z0-9.-]*$/);
    expect(await readFile(join(folder, "config", "caddy.json"), "utf8")).not.toContain("secret");
    await expect(readFile("/tmp/owned")).rejects.toThrow("ENOENT");
  });

  it("are texts in Traefik's file too", () => {
    const settings = { httpPort: 80, httpsPort: 443, tls: { issuer: "internal" }, trustedProxies: [] } as const;
    const sites = PAYLOADS.flatMap(placed).map((one) => {
      const basicAuth = one.basicAuth && { username: one.basicAuth.username, passwordHash: "x" };
      return { ...one, upstreams: [{ host: "10.0.0.2", port: 80 }], basicAuth, slotCount: 1 };
    });
    const file = traefikFile(traefikConfig({ sites, settings, certificates: [] }));
    expect(file).not.toContain("{{");
    const { http } = JSON.parse(file) as { http: { routers: Record<string, { rule: string }> } }; // Ours.
    for (const { rule } of Object.values(http.routers))
      expect(rule).toMatch(/^Host\(`[^`]+`\)( && \(Path\(`[^`]+`\) \|\| PathPrefix\(`[^`]+\/`\)\))?$/);
  });
});

const HINT = "It is stopped or does not answer. Try again in a moment.\n";
