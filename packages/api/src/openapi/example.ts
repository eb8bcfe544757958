/** A JSON schema, as far as examples are made from it. */
export interface ExampleSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly format?: string;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly anyOf?: readonly ExampleSchema[];
  readonly oneOf?: readonly ExampleSchema[];
  readonly allOf?: readonly ExampleSchema[];
  readonly items?: ExampleSchema;
  readonly properties?: Readonly<Record<string, ExampleSchema>>;
  readonly required?: readonly string[];
}

export type ExampleSchemas = Readonly<Record<string, ExampleSchema>>;

const UUID = "x530s5chcn08g4ovgxmarfo6";

/** By the name of the field, where its schema says no more than that it is a text or a number. */
const BY_FIELD: Readonly<Record<string, unknown>> = {
  name: "shop",
  description: "The web shop",
  key: "GREETING",
  value: "hello",
  reference: "{{ team.GREETING }}",
  message: "Done.",
  status: "running:healthy",
  fqdn: "https://shop.example.com",
  domains: "https://shop.example.com",
  domain: "https://shop.example.com",
  urls: ["https://shop.example.com"],
  url: "https://shop.example.com",
  email: "ada@example.com",
  git_repository: "https://github.com/acme/shop.git",
  git_branch: "main",
  git_commit_sha: "HEAD",
  commit: "4f1c2d9",
  dockerfile: "FROM nginx:alpine\nCOPY . /usr/share/nginx/html\n",
  docker_registry_image_name: "ghcr.io/acme/shop",
  docker_compose: "services:\n  web:\n    image: nginx:alpine\n",
  docker_compose_raw: "services:\n  web:\n    image: nginx:alpine\n",
  environment_name: "production",
  ip: "203.0.113.10",
  host: "shop.example.com",
  network: "berth",
  command: "npm run nightly",
  frequency: "0 3 * * *",
  mount_path: "/data",
  tag_name: "web",
  statements: "SELECT version()",
  endpoint: "https://s3.example.com",
  reported_version: "4.1.0",
  sign_up_domains: "example.com",
  bucket: "backups",
  region: "eu-central-1",
  address: "ghcr.io",
  username: "acme",
  password: "correct horse battery staple",
  new_password: "correct horse battery staple",
  api_url: "https://api.github.com",
  html_url: "https://github.com",
  image: "postgres:18",
  database_name: "postgres",
  database_type: "standalone-postgresql",
  private_key: "-----BEGIN OPENSSH PRIVATE KEY-----\n…\n-----END OPENSSH PRIVATE KEY-----\n",
  location: "fsn1",
  server_type: "cx22",
  code: "k4qyT3Vd2nPz",
  type: "wordpress",
  token: "t0ken",
};

/** Fields that say most of a change where none is required, the first one that there is. */
const TELLING = ["name", "description", "domains", "key", "frequency", "tag_name", "statements", "proxy_type"];

/** Fields that belong to others, required or not. */
const BESIDE: Readonly<Record<string, readonly string[]>> = {
  server_uuid: ["environment_name", "name", "docker_compose"],
  key: ["value"],
  private_key_uuid: ["name", "cloud_provider_token_uuid"],
  ip: ["user"],
};

/** The body of a request: what is required, or one field where nothing is, and what belongs to it. */
export function requestExample(schema: ExampleSchema, schemas: ExampleSchemas): Readonly<Record<string, unknown>> {
  const { properties = {}, required = [] } = schema;
  const telling = TELLING.find((key) => key in properties) ?? Object.keys(properties)[0];
  const own = required.length > 0 || telling === undefined ? required : [telling];
  const beside = own.flatMap((key) => BESIDE[key] ?? []).filter((key) => key in properties);
  const keys = new Set([...own, ...beside]);
  return Object.fromEntries([...keys].map((key) => [key, exampleOf(properties[key] ?? {}, schemas, key)]));
}

/** A value that the schema describes. It shows the form; nothing in it exists. */
export function exampleOf(
  schema: ExampleSchema,
  schemas: ExampleSchemas,
  key = "",
  within: readonly string[] = [],
): unknown {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1);
    // A description that contains itself ends here.
    return within.includes(name) ? null : exampleOf(schemas[name] ?? {}, schemas, key, [...within, name]);
  }
  const of = (inner: ExampleSchema, innerKey = key) => exampleOf(inner, schemas, innerKey, within);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  const choice = (schema.anyOf ?? schema.oneOf)?.find(({ type }) => type !== "null");
  if (choice !== undefined) return of(choice);
  if (schema.allOf !== undefined) return Object.assign({}, ...schema.allOf.map((each) => of(each)));
  if (schema.default !== undefined && schema.default !== null && schema.default !== "") return schema.default;
  if (schema.type === "null") return null;
  switch ([schema.type].flat().find((type) => type !== "null")) {
    case "string":
      return textOf(schema, key);
    case "integer":
    case "number":
      return Math.max(schema.minimum ?? (schema.exclusiveMinimum ?? 0) + 1, 1);
    case "boolean":
      return true;
    case "array":
      if (schema.items?.type === "string" && Array.isArray(BY_FIELD[key])) return BY_FIELD[key];
      return schema.items === undefined ? [] : [of(schema.items)];
    default: {
      const { properties = {}, required = [] } = schema;
      return Object.fromEntries(required.map((name) => [name, of(properties[name] ?? {}, name)]));
    }
  }
}

function textOf({ format }: ExampleSchema, key: string): string {
  if (/(^|_)uuid$/.test(key)) return UUID;
  if (format === "date-time" || /_at$/.test(key)) return "2026-11-25T08:30:00.000000Z";
  const known = BY_FIELD[key];
  if (typeof known === "string") return known;
  return format === "uri" ? "https://shop.example.com" : "text";
}
