import {
  CHANNEL_KINDS,
  CHANNEL_UPDATES,
  type ChannelKind,
  channelFlag,
  chosenEvents,
  DELIVERY_STATES,
  type DeliveryState,
  isChannelEnabled,
} from "@berth/core/notification";
import { Argument, type Command, Option } from "commander";
import type { Bind } from "../command-module.ts";
import type { Api } from "../connection/api.ts";
import { problemIn } from "../connection/problem.ts";
import { Failure } from "../failure.ts";
import { addFlags, type Flag, flagName, flagsFor, valuesOf } from "../flags.ts";
import { ago } from "../format.ts";
import { cell, type Output } from "../output.ts";
import { printable } from "../printable.ts";
import type { Session } from "../session.ts";

export function define(command: Command, bind: Bind): void {
  command
    .command("list", { isDefault: true })
    .description("List the channels, and what each of them reports.")
    .action(bind(list));
  command
    .command("show")
    .description("Show the settings of a channel.")
    .addArgument(channelArgument())
    .action(bind(show));
  const set = command.command("set").description("Change a channel: turn it on, and choose what it reports.");
  for (const kind of CHANNEL_KINDS) {
    const flags = flagsOf(kind);
    const made = set.command(kind).description(`Change the settings of ${kind}.`);
    addFlags(made, flags, "Of the channel:");
    made.action(
      bind((session: Session, options: NotificationOptions) => change(session, kind, valuesOf(flags, options))),
    );
  }
  command
    .command("test")
    .description("Send a test now, also by a channel that is turned off.")
    .addArgument(channelArgument())
    .action(bind(test));
  command
    .command("deliveries")
    .description("List what was sent, or is about to be, the newest first.")
    .addOption(new Option("--channel <channel>", "only by this channel").choices([...CHANNEL_KINDS]))
    .addOption(new Option("--state <state>", "only in this state").choices([...DELIVERY_STATES]))
    .addOption(new Option("-n, --last <number>", "how many").default(20).argParser(Number))
    .action(bind(deliveries));
}

type NotificationOptions = Readonly<Record<string, unknown>>;

const channelArgument = () => new Argument("<channel>").choices([...CHANNEL_KINDS]);

/** Without the channel's name, which the command has: `--enabled` for `discord_enabled`. */
const flagsOf = (kind: ChannelKind): readonly Flag[] =>
  flagsFor(CHANNEL_UPDATES[kind]).map((flag) => ({ ...flag, name: flagName(channelFlag(kind, flag.key)) }));

type Channel = Api["client"]["notifications"]["webhook"];

/** The channels have the same operations, each with fields of its own. */
const channelOf = ({ client }: Api, kind: ChannelKind) => client.notifications[kind] as unknown as Channel;

/** Fields of any channel. */
const fieldsOf = (answer: object): NotificationOptions => ({ ...answer });

async function list(session: Session): Promise<void> {
  const { output } = session;
  const api = await session.connect();
  const all = await Promise.all(CHANNEL_KINDS.map((kind) => channelOf(api, kind).get.query({})));
  output.show(Object.fromEntries(CHANNEL_KINDS.map((kind, n) => [kind, all[n]])), () =>
    output.table(
      ["CHANNEL", "ON", "REPORTS"],
      CHANNEL_KINDS.map((kind, n) => {
        const fields = fieldsOf(all[n] ?? {});
        return [kind, isChannelEnabled(kind, fields) ? "yes" : output.colors.dim("no"), reported(kind, fields)];
      }),
    ),
  );
}

const reported = (kind: ChannelKind, fields: NotificationOptions): string =>
  chosenEvents(kind, fields)
    .map((event) => event.replaceAll("_", " "))
    .join(", ") || "nothing";

async function show(session: Session, kind: ChannelKind): Promise<void> {
  const { output } = session;
  const channel = await channelOf(await session.connect(), kind).get.query({});
  output.show(channel, () => showChannel(output, kind, fieldsOf(channel)));
}

function showChannel(
  output: Output,
  kind: ChannelKind,
  { id: _, team_id: __, message, ...fields }: NotificationOptions,
): void {
  const rows = Object.entries(fields).map(([name, value]) => [
    flagName(channelFlag(kind, name)),
    typeof value === "boolean"
      ? value
        ? "yes"
        : output.colors.dim("no")
      : cell(value === null ? null : String(value)),
  ]);
  output.table(["SETTING", "VALUE"], rows);
  if (typeof message === "string") output.warn(printable(message));
}

async function change(session: Session, kind: ChannelKind, sent: Record<string, unknown>): Promise<void> {
  const { output } = session;
  const { update } = channelOf(await session.connect(), kind);
  const channel = await update.mutate(sent).catch((error: unknown) => {
    throw output.isJson ? error : inFlags(kind, error);
  });
  output.show(channel, () => {
    const fields = fieldsOf(channel);
    output.line(`${kind} is ${isChannelEnabled(kind, fields) ? "on" : "off"}. It reports: ${reported(kind, fields)}.`);
    if (typeof fields.message === "string") output.warn(printable(fields.message));
  });
}

/** The API names the fields, which are longer than the flags. */
function inFlags(kind: ChannelKind, error: unknown, steps: readonly string[] = []): unknown {
  const { message = "", errors } = problemIn(error) ?? {};
  if (errors === undefined) return error;
  const details = Object.entries(errors).flatMap(([field, texts]) =>
    texts.map((text) => printable(`--${flagName(channelFlag(kind, field))}: ${text}`)),
  );
  return new Failure(printable(message), { cause: error, details: [...details, ...steps] });
}

async function test(session: Session, kind: ChannelKind): Promise<void> {
  const { output } = session;
  const channel = channelOf(await session.connect(), kind);
  const answer = await channel.test.mutate({}).catch((error: unknown) => {
    throw output.isJson ? error : inFlags(kind, error, [`Change it with: berth notifications set ${kind}`]);
  });
  output.show(answer, () => output.line(printable(answer.message)));
}

interface DeliveryOptions {
  readonly channel?: ChannelKind;
  readonly state?: DeliveryState;
  readonly last: number;
}

async function deliveries(session: Session, { channel, state, last }: DeliveryOptions): Promise<void> {
  const { output } = session;
  const { client } = await session.connect();
  const all = await client.notifications.deliveries.query({ channel, state, take: last });
  const now = new Date();
  output.show(all, () => {
    if (all.length === 0) return output.line("Nothing was sent yet.");
    const rows = all.map((each) => [
      stateText(each.state, output),
      each.channel,
      cell(each.title),
      ago(each.created_at, now),
      String(each.attempts),
      cell(each.error),
    ]);
    output.table(["STATE", "CHANNEL", "WHAT", "WHEN", "TRIES", "PROBLEM"], rows);
  });
}

function stateText(state: DeliveryState, { colors }: Output): string {
  if (state === "delivered") return colors.green(state);
  return state === "failed" ? colors.red(state) : colors.cyan(state);
}
