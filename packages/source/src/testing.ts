export { rawTar, streamOf } from "./git/tar.fixture.ts";
