import { describe, expect, test } from "vitest";
import { diskOfText } from "./inspect-server.ts";
import { familiesOf, installSteps } from "./install-engine.ts";

const lock = ["-o", "DPkg::Lock::Timeout=300"];
const install = ["install", "--yes", "--no-install-recommends", "docker.io", "iptables"];

describe("what installs Docker", () => {
  test("as root, on a machine with systemd", () => {
    const target = { families: ["debian"], user: "root", isRoot: true, hasSystemd: true };
    expect(installSteps(target)).toEqual([
      { name: "Package lists", argv: ["apt-get", ...lock, "update"] },
      { name: "Packages", argv: ["apt-get", ...lock, ...install] },
      { name: "Start", argv: ["systemctl", "enable", "--now", "docker"] },
    ]);
  });

  test("as root, on one without", () => {
    const target = { families: ["ubuntu", "debian"], user: "root", isRoot: true, hasSystemd: false };
    expect(installSteps(target)?.at(-1)).toEqual({ name: "Start", argv: ["service", "docker", "start"] });
  });

  test("as another login, which may use Docker afterwards", () => {
    const sudo = ["sudo", "-n", "DEBIAN_FRONTEND=noninteractive", "--"];
    const target = { families: ["debian"], user: "deploy", isRoot: false, hasSystemd: true };
    expect(installSteps(target)).toEqual([
      { name: "Package lists", argv: [...sudo, "apt-get", ...lock, "update"] },
      { name: "Packages", argv: [...sudo, "apt-get", ...lock, ...install] },
      { name: "Start", argv: [...sudo, "systemctl", "enable", "--now", "docker"] },
      { name: "Login", argv: [...sudo, "usermod", "--append", "--groups", "docker", "deploy"] },
    ]);
  });

  test.each([[["fedora"]], [["alpine"]], [[]]])("is not known for %j", (families) => {
    expect(installSteps({ families, user: "root", isRoot: true, hasSystemd: true })).toBeUndefined();
  });

  test.each([
    ['ID=debian\nVERSION_ID="13"\n', ["debian"]],
    ['NAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian\n', ["ubuntu", "debian"]],
    ['ID="linuxmint"\nID_LIKE="ubuntu debian"\n', ["linuxmint", "ubuntu", "debian"]],
    ["VARIANT_ID=debian\nID=fedora\n", ["fedora"]],
    ["", []],
  ])("reads %j", (text, families) => {
    expect(familiesOf(text)).toEqual(families);
  });
});

test.each([
  [
    "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda1 1000 400 500 45% /var/lib\n",
    { totalBytes: 1_024_000, freeBytes: 512_000 },
  ],
  [
    "Filesystem 1024-blocks Used Available Capacity Mounted on\n//nas/a b 12 2000 10 1990 1% /mnt/x y\n",
    { totalBytes: 2_048_000, freeBytes: 2_037_760 },
  ],
  ["df: /nope: No such file or directory\n", undefined],
  ["", undefined],
])("reads the space that df reports: %j", (output, disk) => {
  expect(diskOfText(output)).toEqual(disk);
});
