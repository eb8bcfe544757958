export { freePort, hasSshd, makeSshd, type Sshd } from "./sshd.fixture.ts";
