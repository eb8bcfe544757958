type ComposeSection = Readonly<Record<string, unknown>>;

/** JSON is YAML, so the value stays the same whatever it contains. */
export const composeText = (place: string, value: string): string => JSON.stringify(COMPOSE_PLACES[place]?.(value));

/**
 * A compose file with all values in every field for free text, and references to the variables `NOTE_0` and so on.
 * @param markers Folder that is created in the container.
 */
export function composeOfTexts(values: readonly string[], markers: string): string {
  const texts = values.map((value) => value.replaceAll("$", "$$$$"));
  const numbered = <T>(name: string, textOf: (text: string, at: number) => T) =>
    Object.fromEntries(texts.map((text, at) => [`${name}${at}`, textOf(text, at)]));
  const worker = {
    ...WORKER,
    command: ["sh", "-c", `mkdir -p ${markers} && sleep 600`, ...texts],
    environment: { ...numbered("TEXT_", (text) => text), ...numbered("NOTE_", (_, at) => `\${NOTE_${at}}`) },
    // Labels are not interpolated, so `$` needs no escaping.
    labels: Object.fromEntries(values.map((value, at) => [`note.${at}`, value])),
    healthcheck: { test: ["CMD", "true", ...texts], interval: "1s", retries: 2 },
    configs: texts.map((_, at) => ({ source: `text-${at}`, target: `/texts/${at}` })),
    "x-note": texts,
  };
  return JSON.stringify({ services: { worker }, configs: numbered("text-", (text) => ({ content: text })) });
}

/** Compose files with a value in each of the fields that a user may write. */
export const COMPOSE_PLACES: Readonly<Record<string, (value: string) => ComposeSection>> = {
  "a service's name": (value) => ({ services: { [value]: WORKER } }),
  image: worker((image) => ({ image })),
  command: worker((command) => ({ command })),
  "an argument": worker((value) => ({ command: ["sh", "-c", "sleep 600", value] })),
  entrypoint: worker((entrypoint) => ({ entrypoint })),
  "a label": worker((value) => ({ labels: { note: value } })),
  "a label's name": worker((value) => ({ labels: { [value]: "x" } })),
  "a line of labels": worker((value) => ({ labels: [value] })),
  "a short volume": worker((value) => ({ volumes: [value] })),
  "a volume's source": worker((value) => ({ volumes: [`${value}:/x`] })),
  "a volume's long source": worker((source) => ({ volumes: [{ type: "volume", source, target: "/x" }] })),
  "a folder of the server": worker((source) => ({ volumes: [{ type: "bind", source, target: "/x" }] })),
  "a volume's target": worker((value) => ({ volumes: [`data:/x/${value}`] })),
  "a volume's name": (name) => ({
    services: { worker: { ...WORKER, volumes: ["data:/x"] } },
    volumes: { data: { name } },
  }),
  "a volume's option": (device) => ({
    services: { worker: { ...WORKER, volumes: ["data:/x"] } },
    volumes: { data: { driver_opts: { type: "none", o: "bind", device } } },
  }),
  "a variable": worker((value) => ({ environment: { NOTE: value } })),
  "a variable's name": worker((value) => ({ environment: { [value]: "x" } })),
  "a line of variables": worker((value) => ({ environment: [value] })),
  "a file of variables": worker((env_file) => ({ env_file })),
  container_name: worker((container_name) => ({ container_name })),
  hostname: worker((hostname) => ({ hostname })),
  user: worker((user) => ({ user })),
  working_dir: worker((working_dir) => ({ working_dir })),
  network_mode: worker((network_mode) => ({ network_mode })),
  pid: worker((pid) => ({ pid })),
  "a network": worker((value) => ({ networks: [value] })),
  "a network's alias": worker((value) => ({ networks: { default: { aliases: [value] } } })),
  "a network's name": (name) => ({ services: { worker: WORKER }, networks: { default: { name } } }),
  "a network's driver": (driver) => ({ services: { worker: WORKER }, networks: { default: { driver } } }),
  "an option of logging": worker((value) => ({ logging: { driver: value, options: { tag: value } } })),
  "a health check": worker((test) => ({ healthcheck: { test, interval: "1s", retries: 2 } })),
  "a health check's argument": worker((value) => ({
    healthcheck: { test: ["CMD", value], interval: "1s", retries: 2 },
  })),
  "a port": worker((value) => ({ ports: [value] })),
  "an exposed port": worker((value) => ({ expose: [value] })),
  "a host": worker((value) => ({ extra_hosts: [`${value}:127.0.0.1`] })),
  "a folder in memory": worker((tmpfs) => ({ tmpfs })),
  "a security option": worker((value) => ({ security_opt: [value] })),
  "a capability": worker((value) => ({ cap_add: [value] })),
  privileged: worker((privileged) => ({ privileged })),
  "a device": worker((value) => ({ devices: [value] })),
  "a build's folder": worker((context) => ({ image: undefined, build: { context } })),
  "a build's text": worker((dockerfile_inline) => ({ image: undefined, build: { context: ".", dockerfile_inline } })),
  "a build's argument": worker((value) => ({
    image: undefined,
    build: { context: ".", dockerfile_inline: "FROM busybox:stable\nARG NOTE\n", args: { NOTE: value } },
  })),
  "a config's content": (content) => ({
    services: { worker: { ...WORKER, configs: [{ source: "note", target: "/note" }] } },
    configs: { note: { content } },
  }),
  "a secret's file": (file) => ({
    services: { worker: { ...WORKER, secrets: ["note"] } },
    secrets: { note: { file } },
  }),
  "a condition": worker((value) => ({ depends_on: { [value]: { condition: "service_started" } } })),
  "a profile": worker((value) => ({ profiles: [value] })),
  "an extension": (value) => ({ "x-note": { [value]: value }, services: { worker: { ...WORKER, "x-note": value } } }),
  "the text's name": (name) => ({ name, services: { worker: WORKER } }),
};

// With a quick health check; without one it would be watched for a while.
const WORKER: ComposeSection = {
  image: "busybox:stable",
  init: true,
  command: ["sleep", "600"],
  stop_grace_period: "1s",
  healthcheck: { test: ["CMD", "true"], interval: "1s", retries: 2 },
};

function worker(part: (value: string) => ComposeSection): (value: string) => ComposeSection {
  return (value) => ({ services: { worker: { ...WORKER, ...part(value) } } });
}
