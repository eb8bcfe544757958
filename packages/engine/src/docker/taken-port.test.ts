import { expect, test } from "vitest";
import { takenPort } from "./taken-port.ts";

test.each([
  ["driver failed: Bind for 0.0.0.0:80 failed: port is already allocated", "80"],
  ["Error starting userland proxy: listen tcp4 0.0.0.0:8410: bind: address already in use", "8410"],
  ["Error starting userland proxy: listen udp6 [::]:53: bind: address already in use", "53"],
  ["failed to bind host port for 0.0.0.0:8410:172.17.0.2:3000/tcp: address already in use", "8410"],
  ["failed to bind host port 0.0.0.0:8410/tcp: address already in use", "8410"],
  ["network of the same address already in use", undefined],
])("finds the port that is taken, whoever has it: %s", (reason, port) => expect(takenPort(reason)).toBe(port));
