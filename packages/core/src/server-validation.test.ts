import { describe, expect, test } from "vitest";
import { undrivenValidation, validationOf } from "./server-validation.ts";

const GIB = 1024 ** 3;
const well = { engineProblem: null, proxyProblem: null, disk: { totalBytes: 100 * GIB, freeBytes: 50 * GIB } };

describe("the validation of a server", () => {
  test("says nothing when all is well", () => {
    expect(validationOf(well, 80)).toEqual({ is_reachable: true, is_usable: true, validation_logs: null });
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
    expect(found).toEqual({ is_reachable, is_usable, validation_logs });
  });

  test("says plainly that an engine cannot be driven yet", () => {
    const found = undrivenValidation("docker");
    expect(found).toMatchObject({ is_reachable: false, is_usable: false });
    expect(found.validation_logs).toMatch(/cannot drive servers with Docker yet/);
  });
});
