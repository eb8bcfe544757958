import type { Argv } from "../../argv.ts";

/**
 * - `identifier`: a name inside the database, used at the first start
 * - `password`: a secret; 64 random letters and digits when none is given
 * - `text`: any text, or none
 * - `configuration`: content of a file, plain or in base64
 * - `flag`: `true` or `false`
 * - `choice`: one of its options
 * - `scripts`: files that are run at the first start; a secret, as `InitScripts`
 * - `fixed`: shown in answers, never set
 * - `issued`: shown in answers, set by Berth only
 */
type FieldType =
  | "identifier"
  | "password"
  | "text"
  | "configuration"
  | "flag"
  | "choice"
  | "scripts"
  | "fixed"
  | "issued";

/** A field that only one engine has, as named in requests and answers. */
export interface EngineField<Type extends FieldType = FieldType, Variable extends string | null = string | null> {
  readonly type: Type;
  /** For `identifier`, `flag`, `choice` and `fixed`. */
  readonly default: string | null;
  /** Values of a `choice`, and file extensions of `scripts`. */
  readonly options?: readonly string[];
  readonly about: string;
  /** The environment variable that stores the field's value, which its owner may also edit. */
  readonly variable: Variable;
}
export type EngineFields = Readonly<Record<string, EngineField>>;

/** Values of the fields; `null` when unset or when the owner deleted the variable. */
export type EngineValues<Fields extends EngineFields = EngineFields> = {
  readonly [Name in keyof Fields]: string | null;
};

/** The parts of a database's URL, except host and port. */
export interface DatabaseAddress {
  readonly scheme: string;
  readonly user: string | null;
  readonly password: string | null;
  /** The part of the URL after the port, such as `/shop`. */
  readonly path: string;
}

/** A file for the database's container, or for one command in it. */
export interface DatabaseFile {
  readonly path: string;
  readonly text: string;
  /** Readable only by the account that the server runs as. */
  readonly isSecret?: boolean;
}

/** A certificate with its key, in PEM. */
export interface TlsCertificate {
  /** The authority that clients verify the certificate with. */
  readonly authority: string;
  readonly certificate: string;
  /** Private key of the certificate. */
  readonly key: string;
}

/** A command in the database's container. Secrets are in `variables` and `file`, never in `argv`. */
export interface DatabaseCommand {
  readonly argv: Argv;
  readonly variables: Readonly<Record<string, string>>;
  /** For this command only. */
  readonly file?: DatabaseFile;
}

/** How the container is started; without `argv`, by the image's own command. */
export interface DatabaseStart {
  readonly argv?: Argv;
  readonly files?: readonly DatabaseFile[];
}

/** What a backup of a database contains. */
export interface DumpTarget {
  readonly database: string;
  /** MongoDB only. */
  readonly excludedCollections: readonly string[];
}

/** Format of a dump's file. */
export interface DumpFormat {
  /** Extension of the file's name, with its dot. */
  readonly extension: string;
  /** Whether the tool itself compresses the dump. */
  readonly isCompressed: boolean;
}

/** The dumped database, and the database to restore it into. */
export interface RestoreTarget {
  readonly from: string;
  readonly into: string;
}

/** Dumps go to standard output, restores read standard input. */
export interface DumpCommands<Fields extends EngineFields> {
  readonly formats: { readonly one: DumpFormat; readonly all: DumpFormat };
  /** Separates the entries of `databases_to_backup`. */
  readonly separator: "," | "|";
  readonly hasCollections: boolean;
  /** The field with the name of the database that the engine creates first. */
  readonly mainField: keyof Fields & string;
  dump(values: EngineValues<Fields>, target: DumpTarget): DatabaseCommand;
  dumpAll(values: EngineValues<Fields>): DatabaseCommand;
  restore(values: EngineValues<Fields>, target: RestoreTarget): DatabaseCommand;
  restoreAll(values: EngineValues<Fields>): DatabaseCommand;
  /**
   * Runs after `restoreAll`, even after a failed one. `restoreAll` restores the users of the dump, so these
   * statements set the current passwords again and allow logins.
   */
  keepLogin?(values: EngineValues<Fields>): DatabaseCommand & { readonly input: string };
  /** A restore of one database runs in one transaction. */
  readonly isRestoreAtomic: boolean;
  /**
   * How to end what the server does for a client program, so that the program exits: by a name that the program gives
   * itself. Missing for servers without this.
   */
  readonly interruption?: {
    /** The variable with which the program gives its name to the server. */
    readonly variable: string;
    /** @param name Letters, digits and `-`. */
    command(values: EngineValues<Fields>, name: string): DatabaseCommand;
  };
  /** Whether a line of standard error means failure, although the restore exits with 0. */
  isProblem?(line: string): boolean;
  /** Prints the databases that contain data of users, one per line. */
  databases(values: EngineValues<Fields>): DatabaseCommand;
  /** Prints each table of a database and its number of rows, separated by a tab. */
  countRows(values: EngineValues<Fields>, database: string): DatabaseCommand;
}

/**
 * All that Berth knows about an engine. The functions are methods, so that a row with specific fields is assignable
 * to a general one.
 */
export interface EngineRow<Fields extends EngineFields = EngineFields, Collection extends string = string> {
  readonly title: string;
  /** Name of the engine's databases in the answer about an environment. */
  readonly collection: Collection;
  readonly image: string;
  readonly port: number;
  /** Replaces `port` when the database offers TLS. */
  readonly tlsPort?: number;
  /** Accounts that the engine's images run the server as: the first existing one gets access to secret files. */
  readonly accounts: readonly string[];
  /** Folder of its data, on a storage that every database has. */
  readonly dataPath: string;
  readonly fields: Fields;
  address(values: EngineValues<Fields>, image: string): DatabaseAddress;
  /** Variables that the image reads at its start, in addition to those of the owner. */
  variables(values: EngineValues<Fields>): Readonly<Record<string, string>>;
  /** @param certificate `null`: without TLS. */
  start(values: EngineValues<Fields>, certificate: TlsCertificate | null): DatabaseStart;
  /** Healthy when it exits with 0. */
  health(values: EngineValues<Fields>): Argv;
  /**
   * The engine's own client with all rights, which reads statements from standard input. Missing for engines without
   * one.
   */
  client?(values: EngineValues<Fields>): DatabaseCommand;
  /** The same in a terminal, for engines whose client reads no statements from standard input. Default: `client`. */
  console?(values: EngineValues<Fields>): DatabaseCommand;
  /** `null`: it cannot be dumped while it runs. */
  readonly dumps: DumpCommands<NoInfer<Fields>> | null;
  /**
   * Gives the database the passwords that its next release is started with. Runs in the release that is replaced,
   * whose own variables have the passwords until now; exits with `PASSWORDS_UNCHANGED` when they are the same.
   * Missing for engines that read their passwords at each start.
   * @param next Variables of the next release.
   */
  changePasswords?(next: Readonly<Record<string, string>>): DatabaseCommand & { readonly input: string };
}

/** An exit code that no client has: `psql` exits with 3 when a statement fails. */
export const PASSWORDS_UNCHANGED = 100;

/** Infers the types of the fields, so that the functions know their names. */
export const engineRow = <const Fields extends EngineFields, const Collection extends string>(
  row: EngineRow<Fields, Collection>,
): EngineRow<Fields, Collection> => row;

export const identifier = (byDefault: string, about: string) =>
  ({ type: "identifier", default: byDefault, about, variable: null }) as const;
export const password = (about: string) => ({ type: "password", default: null, about, variable: null }) as const;
export const text = (about: string) => ({ type: "text", default: null, about, variable: null }) as const;
export const configuration = (about: string) =>
  ({ type: "configuration", default: null, about, variable: null }) as const;
export const fixed = (value: string, about: string) =>
  ({ type: "fixed", default: value, about, variable: null }) as const;
export const flag = (about: string) => ({ type: "flag", default: "false", about, variable: null }) as const;
export const choice = <const Option extends string>(options: readonly Option[], byDefault: Option, about: string) =>
  ({ type: "choice", default: byDefault, options, about, variable: null }) as const;
/** @param extensions File extensions that the image runs. */
export const scripts = (...extensions: readonly string[]) =>
  ({
    type: "scripts",
    default: null,
    options: extensions,
    about:
      "Scripts that run at the first start, in this order or that of index: " +
      `files named *${extensions.join(" or *")}. Later changes have no effect.`,
    variable: null,
  }) as const;
export const issued = (about: string) => ({ type: "issued", default: null, about, variable: null }) as const;

/** The field is stored as an environment variable of the database. */
export const asVariable = <Type extends FieldType, const Variable extends string>(
  field: EngineField<Type>,
  variable: Variable,
): EngineField<Type, Variable> => ({ ...field, variable });

/** Leaves out the entries that are `null`. */
export const given = (variables: Readonly<Record<string, string | null>>): Readonly<Record<string, string>> =>
  // The filter leaves only texts.
  Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== null)) as Record<string, string>;
