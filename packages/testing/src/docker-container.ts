import { PassThrough } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import type Docker from "dockerode";

export interface TestContainer {
  readonly id: string;
  readonly name: string;
  readonly container: Docker.Container;
  /** Address in the suite's network, which the machine can reach. */
  readonly address: string;
  exec(argv: readonly string[], options?: ExecOptions): Promise<ExecResult>;
  /** Output of both streams from the beginning. */
  logs(): Promise<string>;
}

export interface ExecOptions {
  readonly stdin?: NodeJS.ReadableStream;
}

export interface ExecResult {
  readonly exitCode: number;
  /** Output of both streams. */
  readonly output: string;
}

export async function testContainer(
  client: Docker,
  id: string,
  options: { readonly name: string; readonly network: string },
): Promise<TestContainer> {
  const container = client.getContainer(id);
  const { NetworkSettings } = await container.inspect();
  return {
    id,
    name: options.name,
    container,
    address: NetworkSettings.Networks[options.network]?.IPAddress ?? "",
    exec: (argv, execOptions) => exec(client, container, argv, execOptions),
    async logs() {
      const output = new PassThrough();
      const log = await container.logs({ stdout: true, stderr: true, follow: false });
      // Without `follow` the library returns all frames in one buffer.
      const frames = new PassThrough();
      client.modem.demuxStream(frames, output, output);
      frames.end(log);
      frames.once("end", () => output.end());
      return (await buffer(output)).toString();
    },
  };
}

async function exec(
  client: Docker,
  container: Docker.Container,
  argv: readonly string[],
  { stdin }: ExecOptions = {},
): Promise<ExecResult> {
  const hasInput = stdin !== undefined;
  const created = await container.exec({
    Cmd: [...argv],
    AttachStdin: hasInput,
    AttachStdout: true,
    AttachStderr: true,
  });
  const stream = await created.start({ hijack: hasInput, stdin: hasInput });
  const output = new PassThrough();
  client.modem.demuxStream(stream, output, output);
  const end = () => output.end();
  stream.once("end", end).once("close", end).once("error", end);
  stdin?.pipe(stream);
  const bytes = await buffer(output);
  return { exitCode: await exitCodeOf(created), output: bytes.toString() };
}

/** A busy engine may end the output a moment before it reports the exit code. */
async function exitCodeOf(exec: Docker.Exec): Promise<number> {
  for (let attempt = 0; attempt < EXIT_ATTEMPTS; attempt += 1) {
    const { Running, ExitCode } = await exec.inspect();
    if (!Running && ExitCode !== null) return ExitCode;
    await delay(50);
  }
  return -1;
}

const EXIT_ATTEMPTS = 100;
