import { afterAll, afterEach, beforeAll, describe } from "vitest";
import { ConformanceBed, type ProxyWorld } from "./conformance/bed.fixture.ts";
import { changeGuarantees } from "./conformance/changes.fixture.ts";
import { countGuarantees } from "./conformance/counts.fixture.ts";
import { requestGuarantees } from "./conformance/requests.fixture.ts";
import { routeGuarantees } from "./conformance/routes.fixture.ts";

/** Guarantees of every proxy. A proxy declares each capability that it lacks. */
export function proxyConformance(name: string, makeWorld: () => Promise<ProxyWorld>): void {
  describe(`${name} as a proxy`, () => {
    const bed = new ConformanceBed();
    beforeAll(() => bed.start(makeWorld));
    afterEach(() => bed.endTest());
    afterAll(() => bed.close());
    routeGuarantees(bed);
    requestGuarantees(bed);
    changeGuarantees(bed);
    countGuarantees(bed);
  });
}
