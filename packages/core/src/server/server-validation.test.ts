import { describe, expect, test } from "vitest";
import type { ServerInspection } from "../ports/server-machine.ts";
import { dockerValidationOf, unsupportedEngineValidation, validationOf } from "./server-validation.ts";

const GIB = 1024 ** 3;
const well = { engineProblem: null, proxyProblem: null, disk: { totalBytes: 100 * GIB, freeBytes: 50 * GIB } };

describe("the validation of a server", () => {
  test("says nothing when all is well", () => {
    expect(validationOf(well, 80)).toEqual({
      ...{ is_reachable: true, is_usable: true, validation_logs: null },
      steps: [
        { name: "Engine", result: "passed", message: "It answers." },
        { name: "Proxy", result: "passed", message: "It answers." },
        { name: "Disk", result: "passed", message: "50.0 GB of 100.0 GB are free." },
      ],
    });
  });

  test.each([
    ["its engine is away", { engineProblem: "Gone." }, [false, false, "Gone."]],
    ["its proxy is away", { proxyProblem: "No proxy." }, [true, false, "No proxy."]],
    ["all is away", { engineProblem: "Gone.", proxyProblem: "No proxy." }, [false, false, "Gone.\nNo proxy."]],
    [
      "its disk is full",
      { disk: { totalBytes: 100 * GIB, freeBytes: 1024 ** 2 } },
      [true, false, "Its disk is full: 1 MB are free, 256 MB are needed."],
    ],
    [
      "its disk is fuller than it should be",
      { disk: { totalBytes: 100 * GIB, freeBytes: 20 * GIB } },
      [true, true, "Its disk is 80 % full, the threshold is 80 %."],
    ],
    ["its disk cannot be read", { disk: null }, [true, true, "The free space of its disk could not be read."]],
  ])("tells when %s", (_, findings, [is_reachable, is_usable, validation_logs]) => {
    const found = validationOf({ ...well, ...findings }, 80);
    expect(found).toMatchObject({ is_reachable, is_usable, validation_logs });
  });

  test("says plainly that an engine cannot be driven yet", () => {
    const found = unsupportedEngineValidation("swarm");
    expect(found).toMatchObject({ is_reachable: false, is_usable: false });
    expect(found.validation_logs).toMatch(/does not support servers with Docker Swarm yet/);
  });
});

describe("the validation of a server with Docker", () => {
  const facts = {
    engine_version: "26.1.5",
    api_version: "1.45",
    operating_system: "Debian GNU/Linux 13",
    kernel_version: "6.18",
    architecture: "amd64",
    cpus: 2,
    memory_bytes: 4 * GIB,
    disk_total_bytes: 100 * GIB,
    disk_free_bytes: 50 * GIB,
  };
  const sound: ServerInspection = {
    machineProblem: null,
    engineProblem: null,
    facts,
    osType: "linux",
    engineId: null,
    swarm: null,
    disk: { totalBytes: 100 * GIB, freeBytes: 50 * GIB },
  };
  const validated = (findings: Partial<ServerInspection>) => {
    const { is_reachable, is_usable, validation_logs } = dockerValidationOf({ ...sound, ...findings }, 80);
    return [is_reachable, is_usable, validation_logs];
  };

  test("says nothing when all is well, and what the machine is made of", () => {
    expect(dockerValidationOf(sound, 80)).toEqual({
      is_reachable: true,
      is_usable: true,
      validation_logs: null,
      steps: [
        { name: "Machine", result: "passed", message: "It answers and runs programs." },
        { name: "Engine", result: "passed", message: "Docker 26.1.5 answers." },
        { name: "Version", result: "passed", message: "API 1.45; 1.41 or newer is needed." },
        { name: "System", result: "passed", message: "Debian GNU/Linux 13." },
        { name: "Disk", result: "passed", message: "50.0 GB of 100.0 GB are free." },
        { name: "Architecture", result: "passed", message: "amd64." },
        { name: "Memory", result: "passed", message: "4.0 GB." },
      ],
      facts,
      swarm: null,
    });
  });

  test.each<[string, Partial<ServerInspection>, readonly string[]]>([
    ["a machine that is off", { machineProblem: "Off.", facts: null }, ["Machine failed Off."]],
    [
      "an engine that is away",
      { engineProblem: "No socket.", facts: null },
      ["Machine passed It answers and runs programs.", "Engine failed No socket."],
    ],
    [
      "a disk that is rather full",
      { disk: { totalBytes: 100 * GIB, freeBytes: 10 * GIB } },
      ["Disk warned Its disk is 90 % full, the threshold is 80 %."],
    ],
  ])("ends its steps with what is wrong: %s", (_, findings, expected) => {
    const { steps = [] } = dockerValidationOf({ ...sound, ...findings }, 80);
    const said = steps.map(({ name, result, message }) => `${name} ${result} ${message}`);
    if (expected.length > 1) expect(said).toEqual(expected);
    else expect(said.filter((step) => !step.includes(" passed "))).toEqual(expected);
  });

  test("says what its cluster needs, obstacles first, and which engine it has from now on", () => {
    const cluster = { engine: "swarm", obstacle: "No leader.", warnings: ["Few managers."], node: null } as const;
    const found = dockerValidationOf({ ...sound, osType: "windows" }, 80, cluster);
    expect(found).toMatchObject({ is_usable: false, engine: "swarm" });
    expect(found.validation_logs).toMatch(/Linux containers.*\nNo leader\.\nFew managers\.$/);
    expect(dockerValidationOf(sound, 80, { ...cluster, obstacle: null })).toMatchObject({ is_usable: true });
  });

  test("leaves engine and cluster as they are when the engine does not answer", () => {
    const cluster = { engine: "docker", obstacle: null, warnings: [], node: null } as const;
    const found = dockerValidationOf({ ...sound, engineProblem: "No socket.", facts: null }, 80, cluster);
    expect([found.engine, found.swarm]).toEqual([undefined, undefined]);
  });

  test.each<[string, Partial<ServerInspection>, readonly [boolean, boolean, unknown]]>([
    ["it cannot be reached", { machineProblem: "Off.", facts: null }, [false, false, "Off."]],
    ["its engine is away", { engineProblem: "No socket.", facts: null }, [true, false, "No socket."]],
    [
      "its engine is too old",
      { facts: { ...facts, engine_version: "19.03", api_version: "1.40" } },
      [true, false, "Its Docker 19.03 (API 1.40) is too old. Update it to 20.10 (API 1.41) or newer."],
    ],
    ["its engine is just new enough", { facts: { ...facts, api_version: "1.41" } }, [true, true, null]],
    ["it runs Windows", { osType: "windows" }, [true, false, expect.stringContaining("Linux containers")]],
    [
      "its architecture is rare",
      { facts: { ...facts, architecture: "s390x" } },
      [true, true, expect.stringMatching(/^Its architecture s390x/)],
    ],
    [
      "its memory is little",
      { facts: { ...facts, memory_bytes: GIB / 4 } },
      [true, true, expect.stringMatching(/^It has 256 MB of memory\. .*swap/)],
    ],
    [
      "its disk is full",
      { disk: { totalBytes: 100 * GIB, freeBytes: 1024 ** 2 } },
      [true, false, expect.stringMatching(/^Its disk is full: 1 MB/)],
    ],
    ["its disk cannot be read", { disk: null }, [true, true, expect.stringMatching(/could not be read/)]],
    [
      "several things are wrong",
      { osType: "windows", disk: null },
      [true, false, expect.stringMatching(/Linux containers.*\n.*could not be read/)],
    ],
  ])("tells when %s", (_, findings, expected) => {
    expect(validated(findings)).toEqual(expected);
  });
});
