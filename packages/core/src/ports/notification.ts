import type { ChannelKind, ChannelSettings, NotificationEvent } from "../notification/channel.ts";
import type { DeliveryResult, DeliveryState } from "../notification/delivery-result.ts";
import type { Notification, NotificationFacts, NotifiedEvent } from "../notification/notification.ts";
import type { Page, Paging } from "./records.ts";

export interface NotificationDeliveryRecord {
  readonly id: number;
  readonly uuid: string;
  readonly team_id: number;
  readonly kind: ChannelKind;
  readonly event: NotifiedEvent;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly error: string | null;
  readonly next_attempt_at: Date;
  readonly created_at: Date;
  readonly ended_at: Date | null;
}

/** A team has one channel of each kind. */
export interface NotificationStore {
  /** Its settings; the defaults if nobody has changed them. Secret. */
  settings<Kind extends ChannelKind>(kind: Kind): Promise<ChannelSettings<Kind>>;
  /** The same, in a transaction: concurrent changes of the channel are serialised. */
  settingsForUpdate<Kind extends ChannelKind>(kind: Kind): Promise<ChannelSettings<Kind>>;
  /** @param events What is sent from now on, if the channel is enabled. */
  save(
    kind: ChannelKind,
    channel: { readonly isEnabled: boolean; readonly events: readonly NotificationEvent[]; readonly settings: object },
  ): Promise<void>;
  /** Newest first. */
  deliveries(
    filter: { readonly kind?: ChannelKind | undefined; readonly state?: DeliveryState | undefined },
    paging?: Paging,
  ): Promise<Page<NotificationDeliveryRecord>>;
  /** E-mail addresses of the team's members. */
  memberAddresses(): Promise<readonly string[]>;
}

/** A delivery that this worker tries now. */
export interface ClaimedDelivery extends NotificationDeliveryRecord {
  /** Settings of its channel; `undefined`: it was turned off meanwhile. */
  readonly settings: object | undefined;
  readonly memberAddresses: readonly string[];
  readonly facts: NotificationFacts;
}

/** Deliveries are written with the events that they report, so a crash loses none. */
export interface SystemNotificationStore {
  /** Deliveries that are due. One whose result is not recorded within the lease is claimed again. */
  claim(request: {
    readonly countMax: number;
    /** Deliveries of one team, with those that run. */
    readonly perTeamMax: number;
    /** Ids of teams, one for each delivery that runs. */
    readonly running: readonly number[];
    readonly leaseSeconds: number;
  }): Promise<readonly ClaimedDelivery[]>;
  /** Does nothing if it was claimed again meanwhile. @param retrySeconds `undefined`: it has ended. */
  record(
    delivery: Pick<NotificationDeliveryRecord, "id" | "attempts">,
    result: DeliveryResult,
    retrySeconds: number | undefined,
  ): Promise<void>;
  /** Deletes some of the deliveries that ended before, and returns their number. */
  prune(keptDays: number): Promise<number>;
}

/** Sends a notification through a channel. Never rejects. */
export type NotificationSender = (sending: {
  /** Of the delivery: the same for each try. */
  readonly uuid: string;
  readonly kind: ChannelKind;
  readonly settings: object;
  readonly notification: Notification;
  readonly memberAddresses: readonly string[];
}) => Promise<DeliveryResult>;
