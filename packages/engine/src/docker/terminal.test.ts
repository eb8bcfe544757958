import type { Terminal } from "@berth/core/ports";
import { describeDocker, until } from "@berth/testing";
import { afterAll, beforeAll, test } from "vitest";
import { type DockerWorld, dockerWorld, IMAGES, io, specOf } from "./docker.fixture.ts";

describeDocker("a terminal in a container", [...IMAGES], (fixture) => {
  let world: DockerWorld;
  beforeAll(async () => {
    world = dockerWorld(fixture);
  });
  afterAll(() => world.close());

  async function opened() {
    const engine = await world.engine();
    const spec = specOf(await world.image("USER node"));
    await engine.start(spec, io());
    const terminal = await engine.containers?.terminal(spec, { columns: 100, rows: 40 }, undefined);
    if (terminal === undefined) throw new Error("The engine has no containers.");
    const processes = async () => {
      const [found] = await world.containersOf(spec);
      const { Processes } = await world.docker.getContainer(found?.Id ?? "").top();
      return (Processes as readonly string[][]).map((row) => row.at(-1) ?? "");
    };
    return { terminal, screen: screenOf(terminal), processes };
  }

  test("is a tty of the container's user that follows its reader's size", async () => {
    const { terminal, screen } = await opened();
    await terminal.write(Buffer.from("tty; stty size; id -un; echo $TERM\n"));
    await until(() => /\/dev\/pts\/\d+\s+40 100\s+node\s+xterm-256color/.test(screen.text()));
    await terminal.resize({ columns: 77, rows: 33 });
    await terminal.write(Buffer.from("stty size\n"));
    await until(() => screen.text().includes("33 77"));
    await terminal.close();
    await screen.ended;
  });

  test("ends with its shell, and says so", async () => {
    const { terminal, screen } = await opened();
    await terminal.write(Buffer.from("exit\n"));
    await screen.ended;
    await terminal.close();
  });

  test("ends the shell and what it runs when it is closed", async () => {
    const { terminal, screen, processes } = await opened();
    await terminal.write(Buffer.from("sleep 4321 & sleep 4322\n"));
    await until(async () => (await processes()).filter((command) => command.startsWith("sleep 432")).length === 2);
    await terminal.close();
    await screen.ended;
    await until(async () => !(await processes()).some((command) => /^(sleep 432|bash|\/bin\/sh$)/.test(command)));
  });
});

/** Reads what the terminal shows. */
function screenOf(terminal: Terminal) {
  let shown = "";
  const ended = (async () => {
    for await (const bytes of terminal.output) shown += Buffer.from(bytes).toString("utf8");
  })();
  ended.catch(() => undefined);
  return { text: () => shown, ended };
}
