import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { Agent, type IncomingMessage, request } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { request as requestHttps } from "node:https";
import { createServer } from "node:net";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { isDomainError } from "@berth/core";
import type { Upstream } from "@berth/core/deploy";
import type { Host } from "@berth/host";
import { describeDocker, until } from "@berth/testing";
import { expect, it } from "vitest";
import { ask, HOST, listen, readAll, site } from "../proxy.fixture.ts";
import { serverProxy } from "../server/server-proxy.ts";
import { caddyAdmin } from "./admin.ts";
import { IMAGE, openSocket, testHost, useCaddy } from "./caddy.fixture.ts";
import { caddyProxy } from "./caddy.ts";

/** A client with one persistent connection that never repeats a request. */
function keptConnection(port: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ports = new Set<number | undefined>();
  return {
    /** More than one means that the connection was cut. */
    connections: () => ports.size,
    async status(host: string): Promise<number | undefined> {
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        const sent = request({ host: HOST, port, headers: { host }, agent }, resolve).once("error", reject);
        sent.once("socket", (socket) => {
          const note = () => ports.add(socket.localPort);
          if (socket.connecting) socket.once("connect", note);
          else note();
        });
        sent.end();
      });
      await readAll(answer);
      return answer.statusCode;
    },
    close: () => agent.destroy(),
  };
}

describeDocker("a change of routes in Caddy", [IMAGE], (docker) => {
  const front = useCaddy(docker);
  const named = (name: string) => front.upstream((_request, response) => response.end(name));
  const text = async (host: string) => (await ask(front.options.httpPort, { host })).text;

  it("is no reload when a site only moves, goes down or comes back, and for another control plane neither", async () => {
    const [old, young] = [await named("old"), await named("young")];
    await front.proxy.put(site("a", [old]));
    const client = keptConnection(front.options.httpPort);
    front.cleanUp(client.close);
    expect(await client.status("a.test")).toBe(200);
    await front.proxy.put(site("a", [young]));
    expect([await client.status("a.test"), await text("a.test")]).toEqual([200, "young"]);
    await front.proxy.put(site("a", []));
    expect(await client.status("a.test")).toBe(503);
    const other = caddyProxy(front.options);
    await other.sync([site("a", [old])]);
    await other.put(site("a", [old]));
    await other.ensure();
    expect([await client.status("a.test"), await text("a.test")]).toEqual([200, "old"]);
    expect(client.connections()).toBe(1);
  });

  it("keeps open WebSockets, and counts them and other requests for the upstream they are on", async () => {
    const [old, young] = [await front.echo("old"), await front.echo("young")];
    let finish = () => {};
    const slow = await front.upstream((_request, response) => {
      response.write("begun ");
      finish = () => response.end("ended");
    });
    await front.proxy.put(site("a", [old]));
    await front.proxy.put(site("s", [slow]));
    const { socket, say } = await openSocket(front.options.httpPort, "a.test");
    front.cleanUp(() => socket.terminate());
    const download = text("s.test");
    await until(async () => (await front.proxy.inFlight(slow)) === 1, { what: "it is in flight" });
    expect([await say("1"), await front.proxy.inFlight(old)]).toEqual(["old 1", 1]);
    await front.proxy.put(site("a", [young]));
    await front.proxy.put(site("b", [young]));
    await front.proxy.delete("b");
    expect(await say("2")).toBe("old 2");
    expect([await front.proxy.inFlight(old), await front.proxy.inFlight(young)]).toEqual([1, 0]);
    socket.close();
    await until(async () => (await front.proxy.inFlight(old)) === 0, { what: "it is drained" });
    finish();
    expect(await download).toBe("begun ended");
    await until(async () => (await front.proxy.inFlight(slow)) === 0, { what: "it is drained" });
  });

  it("that Caddy refuses leaves the old routes and the way to change them", async () => {
    await front.proxy.put(site("a", [await named("a")]));
    const admin = caddyAdmin(testHost, async () => join(front.options.folder, "run", "a", "admin.sock"));
    const refused = admin.load(
      JSON.stringify({ admin: { listen: "unix//run/caddy-admin/admin.sock|0666" }, apps: { none: {} } }),
    );
    await expect(refused).rejects.toMatchObject({ code: "engine.failed", message: expect.stringContaining("none") });
    await expect(admin.load("no JSON")).rejects.toMatchObject({ code: "engine.failed" });
    expect(await text("a.test")).toBe("a");
    await front.proxy.put(site("b", [await named("b")]));
    expect(await text("b.test")).toBe("b");
  });

  it("may be told by many at once", async () => {
    const upstreams = await Promise.all(["0", "1", "2"].map(named));
    const ids = Array.from({ length: 12 }, (_none, number) => `many-${number}`);
    await Promise.all(ids.flatMap((id) => upstreams.map((upstream) => front.proxy.put(site(id, [upstream])))));
    await Promise.all(ids.slice(6).map((id) => front.proxy.delete(id)));
    const answers = await Promise.all(ids.map((id) => text(`${id}.test`)));
    expect(new Set(answers.slice(0, 6))).toEqual(new Set(["2"]));
    expect(answers.slice(6).every((answer) => answer.includes("Nothing is served"))).toBe(true);
  });

  it("may be told by several control planes in turn", async () => {
    const [old, young] = [await named("old"), await named("young")];
    const other = caddyProxy(front.options);
    await front.proxy.put(site("a", [old]));
    await other.put(site("b", [old]));
    await front.proxy.put(site("c", [old]));
    await other.put(site("a", [young]));
    await front.proxy.put(site("a", [old]));
    expect([await text("a.test"), await text("b.test"), await text("c.test")]).toEqual(["old", "old", "old"]);
    await other.delete("a");
    await front.proxy.put(site("a", [young]));
    await front.proxy.delete("b");
    await Promise.all([other.put(site("d", [old])), front.proxy.put(site("e", [old]))]);
    const texts = await Promise.all(["a", "b", "c", "d", "e"].map((id) => text(`${id}.test`)));
    expect(texts).toEqual(["young", expect.stringContaining("Nothing"), "old", "old", "old"]);
  });

  it("has what each of two control planes told it last, though one was slower to tell it", async () => {
    const [old, young] = [await named("old"), await named("young")];
    const gate = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    let isSlow = false;
    const host: Host = {
      ...testHost,
      async connectSocket(path, signal) {
        if (isSlow) {
          asked.resolve();
          await gate.promise;
        }
        return await testHost.connectSocket(path, signal);
      },
    };
    const [slow, fast] = [caddyProxy({ ...front.options, host }), front.proxy];
    await fast.sync([site("a", [old]), site("b", [young])]);
    const moved = (id: string, upstream: Upstream) =>
      site(id, [upstream], { routes: [{ host: `${id}.moved.test`, path: "/" }] });
    isSlow = true;
    const told = slow.put(moved("a", old));
    await asked.promise;
    await fast.put(moved("b", young));
    gate.resolve();
    await told;
    expect([await text("a.moved.test"), await text("b.moved.test")]).toEqual(["old", "young"]);
  });

  it("is sent only when it differs from what was confirmed, or Caddy or another control plane changed meanwhile", async () => {
    const [old, young] = [await named("old"), await named("young")];
    let sent = 0;
    const host: Host = {
      ...testHost,
      async connectSocket(path, signal) {
        sent += 1;
        return await testHost.connectSocket(path, signal);
      },
    };
    const [proxy, other] = [caddyProxy({ ...front.options, host }), front.proxy];
    /** Number of requests to Caddy that one synchronisation makes. */
    const requests = async (upstream: Upstream) => {
      sent = 0;
      await proxy.sync([site("a", [upstream])]);
      return sent;
    };
    expect(await requests(old)).toBeGreaterThan(0);
    expect(await requests(old)).toBe(0);
    // Only the contents of a slot differ, which the other one writes too.
    await other.put(site("a", [young]));
    expect(await requests(old)).toBeGreaterThan(0);
    expect([await text("a.test"), await requests(old)]).toEqual(["old", 0]);
    const filters = { label: [`berth.instance=${docker.instance}`] };
    const [container] = await docker.client.listContainers({ filters });
    await docker.client.getContainer(container?.Id ?? "").restart({ t: 0 });
    await until(async () => (await text("a.test").catch(String)) === "old", { what: "it answers" });
    expect(await requests(old)).toBeGreaterThan(0);
  });

  it("survives a kill of Caddy, and is not lost while it is stopped", async () => {
    const [first, second] = [await named("first"), await named("second")];
    await front.proxy.put(site("a", [first]));
    const [container] = await docker.client.listContainers({
      filters: { label: [`berth.instance=${docker.instance}`] },
    });
    await docker.client.getContainer(container?.Id ?? "").restart({ t: 0 });
    await until(async () => (await text("a.test").catch(String)) === "first", { what: "it answers" });
    await front.proxy.stop();
    await front.proxy.stop();
    expect(await front.proxy.status()).toMatchObject({ type: "CADDY", state: "absent" });
    expect(await front.proxy.inFlight(first)).toBe(0);
    await front.proxy.put(site("b", [second]));
    await front.proxy.delete("a");
    await caddyProxy(front.options).ensure();
    expect(await front.proxy.status()).toMatchObject({ state: "running", image: IMAGE, restartCount: 0 });
    expect(await text("b.test")).toBe("second");
    expect(await text("a.test")).toContain("Nothing is served");
  });

  it("leaves another instance's proxy on the same engine alone", async () => {
    await front.proxy.put(site("a", [await named("mine")]));
    const options = await front.elsewhere("2");
    const other = caddyProxy(options);
    await other.ensure();
    await other.put(site("a", [await named("theirs")]));
    expect([await text("a.test"), (await ask(options.httpPort, { host: "a.test" })).text]).toEqual(["mine", "theirs"]);
    await other.sync([]);
    await other.stop();
    expect(await text("a.test")).toBe("mine");
  });

  it("says why the proxy cannot start, and starts it once that is gone", async () => {
    const taken = createServer();
    const port = await listen(taken);
    const stuck = caddyProxy({ ...(await front.elsewhere("3")), httpPort: port });
    const message = expect.stringMatching(new RegExp(`${port}.*address already in use`));
    await expect(stuck.ensure()).rejects.toMatchObject({ code: "setup.failed", message });
    await new Promise((resolve) => taken.close(resolve));
    // The engine may be starting it again at this moment, so that it does not answer yet.
    const unanswered = (error: unknown) => {
      if (!isDomainError(error, "engine.unreachable")) throw error;
      return false;
    };
    await until(() => stuck.ensure().then(() => true, unanswered));
    expect((await stuck.status()).state).toBe("running");
  });

  it("touches no container that is not its own", async () => {
    const options = await front.elsewhere("4");
    await docker.container({ image: IMAGE, name: `berth-proxy-${options.instance}` });
    const proxy = caddyProxy(options);
    await expect(proxy.ensure()).rejects.toMatchObject({ code: "setup.failed" });
    await expect(proxy.stop()).rejects.toMatchObject({ code: "setup.failed" });
  });

  it("ends with the proxy when the server shall have none, and continues where it was when it has one again", async () => {
    await front.proxy.put(site("a", [await named("a")]));
    const none = serverProxy("NONE", front.options);
    await none.ensure();
    await none.put(site("b", []));
    expect([await none.status(), (await front.proxy.status()).state]).toMatchObject([{ type: "NONE" }, "absent"]);
    await expect(ask(front.options.httpPort, { host: "a.test" })).rejects.toThrow();
    await serverProxy("CADDY", front.options).ensure();
    expect(await text("a.test")).toBe("a");
  });

  it("sends names that no site has where the server's redirect leads, as long as there is one", async () => {
    let redirectUrl: string | undefined = "https://elsewhere.example/{env.HOME}?a=$1";
    const proxy = caddyProxy({ ...front.options, redirectUrl: () => redirectUrl });
    await proxy.sync([site("a", [await named("a")])]);
    const unknown = async () => {
      const { status, headers } = await ask(front.options.httpPort, { host: "unknown.test" });
      return [status, headers.location];
    };
    expect(await unknown()).toEqual([302, redirectUrl]);
    expect(await text("a.test")).toBe("a");
    redirectUrl = undefined;
    await proxy.ensure();
    expect(await unknown()).toEqual([404, undefined]);
  });

  it("serves https with a certificate of its own authority, redirects to it, and reads the operator's own", async () => {
    const upstream = await named("secure");
    const routes = [
      { host: "a.test", path: "/", isHttps: true },
      { host: "www.a.test", path: "/", isHttps: true, redirectToHost: "a.test" },
      { host: "plain.a.test", path: "/" },
      { host: "own.test", path: "/", isHttps: true },
    ];
    const { folder, httpPort, httpsPort } = front.options;
    const files = ["own.crt", "own.key"].map((name) => join(folder, "certificates", name));
    const [crt = "", key = ""] = files;
    const subject = ["-subj", "/CN=own", "-addext", "subjectAltName=DNS:own.test"];
    const made = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", ...subject];
    execFileSync("openssl", [...made, "-keyout", key, "-out", crt], { stdio: "ignore" });
    await writeFile(join(folder, "certificates", "broken.crt"), "no certificate");
    await writeFile(join(folder, "certificates", "broken.key"), "no key");
    await front.proxy.sync([site("a", [upstream], { routes, isHttpsForced: true })]);

    const location = async (host: string) => (await ask(httpPort, { host, path: "/x?y" })).headers.location;
    expect(await location("a.test")).toBe(`https://a.test:${httpsPort}/x?y`);
    expect(await location("www.a.test")).toBe(`https://a.test:${httpsPort}/x?y`);
    expect(await text("plain.a.test")).toBe("secure");
    await until(async () => (await askHttps(httpsPort, "a.test").catch(String)) !== "", {
      what: "it has a certificate",
    });
    const answer = await askHttps(httpsPort, "a.test");
    expect(answer).toMatchObject({
      status: 200,
      text: "secure",
      issuer: expect.stringContaining("Caddy Local Authority"),
    });
    expect(await askHttps(httpsPort, "www.a.test")).toMatchObject({ status: 308 });
    expect(await askHttps(httpsPort, "own.test")).toMatchObject({ status: 200, issuer: "own" });
    await expect(askHttps(httpsPort, "plain.a.test")).rejects.toThrow();
    expect(await askHttp2(httpsPort, "a.test")).toBe(200);
    expect(front.proxy.publicUrl("https://a.test:3000/x?y")).toBe(`https://a.test:${httpsPort}/x?y`);
  });
});

function askHttps(port: number, servername: string) {
  return new Promise<{ status: number | undefined; text: string; issuer: unknown }>((resolve, reject) => {
    const options = {
      host: HOST,
      port,
      servername,
      headers: { host: servername },
      agent: false,
      rejectUnauthorized: false,
    };
    const sent = requestHttps(options, (answer) => {
      const { issuer } = (answer.socket as TLSSocket).getPeerCertificate(); // The connection uses TLS.
      readAll(answer).then(
        (bytes) => resolve({ status: answer.statusCode, text: String(bytes), issuer: issuer.CN }),
        reject,
      );
    });
    sent.once("error", reject).end();
  });
}

function askHttp2(port: number, servername: string) {
  return new Promise((resolve, reject) => {
    const session = connectHttp2(`https://${HOST}:${port}`, { servername, rejectUnauthorized: false });
    session.once("error", reject);
    const stream = session.request({ ":authority": servername });
    stream.once("response", (headers) => {
      session.close();
      resolve(headers[":status"]);
    });
    stream.once("error", reject).end();
  });
}
