import { z } from "zod";
import { lenient } from "../input.ts";

const CONTENT_LENGTH_MAX = 524_288; // Half the size of a request.
const PATH_LENGTH_MAX = 1024; // A quarter of Linux's own limit, and far longer than real paths.

/** No double or trailing slashes, and no `.` parts. */
export const normalPath = (path: string): string =>
  `/${path
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .join("/")}`;

const leadsUp = (path: string): boolean => path.split("/").includes("..");
const LEADS_UP = "Must not contain .. as a part.";

const MountPath = z
  .string()
  .min(1, "This field is required.")
  .max(PATH_LENGTH_MAX, `At most ${PATH_LENGTH_MAX} characters.`)
  .refine((path) => !leadsUp(path), LEADS_UP)
  .refine((path) => !/[\p{Cc}:]/u.test(path), "Must not contain colons or control characters.")
  .refine((path) => !/(^|\/)\s|\s(\/|$)/u.test(path), "No part of it may begin or end with a space.")
  .refine((path) => normalPath(path) !== "/", "Must be a path below /.")
  .describe("Where it is mounted. A leading / is added.");

const ServerPath = z
  .string()
  .max(PATH_LENGTH_MAX, `At most ${PATH_LENGTH_MAX} characters.`)
  .regex(/^[A-Za-z0-9._\-/~@+]*$/, "Only letters, digits and . _ - / ~ @ + are allowed.")
  .refine((path) => !leadsUp(path), LEADS_UP);

const storageName = (lengthMax: number) =>
  z
    .string()
    .max(lengthMax, `At most ${lengthMax} characters.`)
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
      "Only letters, digits, . _ - are allowed, and a letter or digit at the beginning.",
    );
const NAME_LENGTH_MAX = 255;
const OWN_NAME_LENGTH_MAX = 200; // A uuid is put before it, and the result must be a valid name.

const StorageType = z.enum(["persistent", "file"]);

// Stored byte for byte: an empty text stays empty.
const Content = z
  .string()
  .max(CONTENT_LENGTH_MAX, `At most ${CONTENT_LENGTH_MAX} characters.`)
  .nullable()
  .describe("Content of a file, stored byte for byte.");

const HostPath = lenient(ServerPath.regex(/^\//, "Must begin with /.").nullable()).describe(
  "For a persistent storage: the folder of the server to mount instead of a volume.",
);

const CREATE = {
  type: StorageType.describe(
    "`persistent`: a folder that outlives deployments. `file`: a file or folder from outside.",
  ),
  name: lenient(storageName(OWN_NAME_LENGTH_MAX).nullable())
    .optional()
    .describe("Name of a persistent storage, required there. Stored with the resource's uuid before it."),
  mount_path: MountPath,
  host_path: HostPath.optional(),
  content: Content.optional(),
  is_directory: lenient(z.boolean())
    .optional()
    .describe("For a file: it is a folder of the server, at `fs_path`. Default false."),
  fs_path: lenient(ServerPath.nullable())
    .optional()
    .describe("The folder of the server, only with `is_directory`; for a file Berth chooses the path."),
};

export const StorageCreate = z.strictObject(CREATE);
export type StorageCreate = z.infer<typeof StorageCreate>;

/** For a resource with several containers. */
export const ContainerStorageCreate = z.strictObject({
  ...CREATE,
  resource_uuid: z.string().min(1, "This field is required.").describe("The container that it is mounted into."),
});

/** Omitted fields keep their values. */
export const StorageUpdate = z
  .strictObject({
    uuid: z.string().optional().describe("The storage's identifier."),
    id: lenient(z.int())
      .optional()
      .describe("Its number, for clients that do not know the uuid. Ignored when `uuid` is given."),
    type: StorageType.optional().describe("Must be the storage's own."),
    name: lenient(storageName(NAME_LENGTH_MAX).nullable())
      .optional()
      .describe("Name of a persistent storage. Stored unchanged."),
    mount_path: MountPath.optional(),
    host_path: HostPath.optional(),
    content: Content.optional(),
    is_preview_suffix_enabled: lenient(z.boolean())
      .optional()
      .describe("Whether each preview deployment has a storage of its own."),
  })
  .refine(({ uuid, id }) => uuid !== undefined || id !== undefined, {
    path: ["uuid"],
    error: "This field is required.",
  });
export type StorageUpdate = z.infer<typeof StorageUpdate>;
