export { type Served, served } from "./berth.fixture.ts";
export { fillLargely } from "./large-objects.fixture.ts";
export { largestInput } from "./largest-input.fixture.ts";
export { asRootTeam, exampleBody, madeObjects, type Objects, pathOf } from "./objects.fixture.ts";
export { operationsOf, type Route, routesOf } from "./rest/routes.ts";
export { appRouter } from "./root.ts";
