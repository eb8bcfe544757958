import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type TestServer, testServer } from "./server.fixture.ts";

describe("a private key on a running server", () => {
  let server: TestServer;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "berth-keys-"));
    server = await testServer();
  });
  afterAll(async () => {
    await server.dispose();
    rmSync(folder, { recursive: true, force: true });
  });

  const keygen = (name: string, passphrase: string) => {
    const file = join(folder, name);
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-C", "", "-N", passphrase, "-f", file]);
    const [, fingerprint] = execFileSync("ssh-keygen", ["-l", "-f", file], { encoding: "utf8" }).split(" ");
    return {
      text: readFileSync(file, "utf8"),
      publicKey: readFileSync(`${file}.pub`, "utf8").trim(),
      fingerprint: fingerprint?.replace("SHA256:", ""),
    };
  };

  it("is read as OpenSSH reads it, and is in no log", async () => {
    const key = keygen("plain", "");
    const created = await server.rest("POST", "/security/keys", { private_key: key.text });
    expect(created).toMatchObject({ status: 201, body: { uuid: expect.any(String) } });
    const { uuid } = created.body as { uuid: string };
    expect((await server.rest("GET", `/security/keys/${uuid}`)).body).toMatchObject({
      private_key: key.text,
      public_key: key.publicKey,
      fingerprint: key.fingerprint,
    });
    const again = await server.rest("POST", "/security/keys", { private_key: key.text });
    expect(again).toMatchObject({ status: 422, body: { errors: { private_key: ["Private key already exists."] } } });
    expect(server.output()).not.toContain(key.text.split("\n")[2]);
  });

  it("is refused with a passphrase, in a sentence that says how to take it off", async () => {
    const { text } = keygen("locked", "a secret");
    const { status, body } = await server.rest("POST", "/security/keys", { private_key: text });
    expect([status, body]).toMatchObject([
      422,
      { errors: { private_key: ["Invalid private key.", expect.stringMatching(/passphrase.*ssh-keygen -p/)] } },
    ]);
  });
});
