import { expect, test } from "vitest";
import { md5Fingerprint } from "./hetzner-ssh-key.ts";

test("a public key has the fingerprint that ssh-keygen shows for MD5", () => {
  const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOHevwgM5IXrd22/XppViUc3TUOafLfZqlrNDvmAnHty demo";
  expect(md5Fingerprint(publicKey)).toBe("93:3e:af:8b:bc:4c:85:6f:37:7b:4e:4d:13:dd:f6:c2");
  expect(md5Fingerprint(` ${publicKey}\n`)).toBe(md5Fingerprint(publicKey));
});
