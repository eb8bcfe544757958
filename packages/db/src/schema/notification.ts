import type { ChannelKind, DeliveryState, NotificationEvent, NotifiedEvent } from "@berth/core/notification";
import type { Generated, GeneratedAlways } from "kysely";
import type { Json, Timestamps } from "./column.ts";

export interface NotificationChannelTable extends Timestamps {
  team_id: number;
  kind: ChannelKind;
  /** Team and kind. */
  uuid: GeneratedAlways<string>;
  is_enabled: boolean;
  events: readonly NotificationEvent[];
  /** Encrypted JSON. */
  settings: Uint8Array;
}

export interface NotificationDeliveryTable {
  id: Generated<number>;
  uuid: string;
  team_id: number;
  kind: ChannelKind;
  event: Json<NotifiedEvent>;
  state: Generated<DeliveryState>;
  attempts: Generated<number>;
  error: string | null;
  next_attempt_at: Generated<Date>;
  created_at: Generated<Date>;
  ended_at: Date | null;
}
