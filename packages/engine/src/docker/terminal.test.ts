import { setTimeout as delay } from "node:timers/promises";
import type { DatabaseCommand } from "@berth/core/database";
import type { Terminal } from "@berth/core/ports";
import { describeDocker, until } from "@berth/testing";
import type Docker from "dockerode";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type DockerWorld, dockerWorld, IMAGES, io, specOf } from "./docker.fixture.ts";
import { terminalIn } from "./terminal.ts";

describeDocker("a terminal in a container", [...IMAGES], (fixture) => {
  let world: DockerWorld;
  beforeAll(async () => {
    world = dockerWorld(fixture);
  });
  afterAll(() => world.close());

  async function running(...lines: string[]) {
    const engine = await world.engine();
    const spec = specOf(await world.image(...lines));
    await engine.start(spec, io());
    const processes = async () => {
      const [found] = await world.containersOf(spec);
      const { Processes } = await world.docker.getContainer(found?.Id ?? "").top();
      return (Processes as readonly string[][]).map((row) => row.at(-1) ?? "");
    };
    return { engine, spec, processes };
  }

  async function opened(command?: DatabaseCommand) {
    const { engine, spec, processes } = await running("USER node");
    const terminal = await engine.containers?.terminal(spec, SIZE, { command });
    if (terminal === undefined) throw new Error("The engine has no containers.");
    const again = async () => {
      const other = await engine.containers?.terminal(spec, SIZE, { command });
      if (other === undefined) throw new Error("The engine has no containers.");
      return { terminal: other, screen: screenOf(other) };
    };
    const files = async () => (await engine.exec(spec, "ls /tmp", { timeoutSeconds: 10 })).output;
    return { terminal, screen: screenOf(terminal), processes, files, again };
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

  test("has its reader's size before its program starts", async () => {
    const { spec } = await running();
    const [container] = await world.containersOf(spec);
    const command = { argv: ["stty", "size"], variables: {} } as const;
    const terminal = await terminalIn(slowToResize(world.docker), container?.Id ?? "", { size: SIZE, command });
    const screen = screenOf(terminal);
    await screen.ended;
    expect(screen.text()).toBe("40 100\r\n");
    await terminal.close();
  });

  test("ends with its shell, and says so", async () => {
    const { terminal, screen } = await opened();
    await terminal.write(Buffer.from("exit 7\n"));
    await screen.ended;
    expect(await terminal.exitCode()).toBe(7);
    await terminal.close();
  });

  test("runs a program with its arguments as they are, and reports how it ended", async () => {
    const script = 'printf "%s|" "$@"; test -t 0 && exit 3';
    const { terminal, screen } = await opened({ argv: ["sh", "-c", script, "sh", "a b; $(x)", "'"], variables: {} });
    await screen.ended;
    expect(screen.text()).toBe("a b; $(x)|'|");
    expect(await terminal.exitCode()).toBe(3);
    await terminal.close();
    const missing = await opened({ argv: ["no-such-program"], variables: {} });
    await missing.screen.ended;
    expect(await missing.terminal.exitCode()).toBe(127);
    await missing.terminal.close();
  });

  test("removes a program's private file when it ends and when it is closed, and ends only the program by Ctrl-C", async () => {
    const path = "/tmp/login";
    const script = `trap 'echo caught' INT; stat -c %a ${path}; cat ${path}; sleep 4323; exit 5`;
    const command = { argv: ["sh", "-c", script], variables: {}, file: { path, text: "secret\n" } } as const;
    const ended = await opened(command);
    await until(() => /600\s+secret/.test(ended.screen.text()));
    await until(async () => (await ended.processes()).includes("sleep 4323"));
    await ended.terminal.write(Buffer.from("\u0003"));
    await ended.screen.ended;
    expect([ended.screen.text(), await ended.terminal.exitCode()]).toEqual([expect.stringContaining("caught"), 5]);
    await ended.terminal.close();
    expect(await ended.files()).not.toContain("login");
    const closed = await opened(command);
    // Another one with the same file leaves it.
    const beside = await closed.again();
    await until(() => /600\s+secret/.test(beside.screen.text()));
    await beside.terminal.close();
    await until(async () => (await closed.files()).split("login").length === 2);
    await until(() => /600\s+secret/.test(closed.screen.text()));
    await closed.terminal.close();
    await closed.screen.ended;
    await until(async () => !(await closed.files()).includes("login"));
  });

  test("ends what was sent to the background when its shell was left by exit", async () => {
    const { terminal, screen, processes } = await opened();
    await terminal.write(Buffer.from("set -m; sleep 4331 & (trap '' HUP; exec sleep 4332) &\n"));
    await until(async () => (await processes()).filter((command) => command.startsWith("sleep 433")).length === 2);
    await terminal.write(Buffer.from("exit\nexit\n"));
    await screen.ended;
    await terminal.close();
    await until(async () => !(await processes()).some((command) => command.startsWith("sleep 433")));
  });

  test("ends a shell that started too late for its reader", async () => {
    const slow = '#!/real/sh\\nif [ -t 0 ]; then sleep 2; touch /tmp/late; fi\\nexec /real/sh "$@"\\n';
    const { spec, processes } = await running(
      `RUN mkdir /real && cp /bin/sh /real/sh && printf '${slow}' >/bin/sh.new && chmod 755 /bin/sh.new && mv /bin/sh.new /bin/sh`,
    );
    const [container] = await world.containersOf(spec);
    const opening = terminalIn(world.docker, container?.Id ?? "", { size: { columns: 80, rows: 24 }, beginMs: 100 });
    await expect(opening).rejects.toMatchObject({ code: "engine.unsupported" });
    const shells = async () => (await processes()).filter((command) => /sh/.test(command));
    const hasStarted = () =>
      world.docker
        .getContainer(container?.Id ?? "")
        .infoArchive({ path: "/tmp/late" })
        .then(
          () => true,
          () => false,
        );
    await until(hasStarted);
    await until(async () => (await shells()).length === 0);
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

const SIZE = { columns: 100, rows: 40 };

/** A client whose engine sets the size long after a program could have started. */
function slowToResize(docker: Docker): Docker {
  const getContainer = (id: string) => {
    const container = docker.getContainer(id);
    const create = container.exec.bind(container);
    const exec = async (options: Docker.ExecCreateOptions) => {
      const made = await create(options);
      const resize = made.resize.bind(made);
      return Object.assign(made, { resize: (size: object) => delay(1000).then(() => resize(size)) });
    };
    return Object.assign(container, { exec });
  };
  return Object.assign(Object.create(docker), { getContainer });
}
