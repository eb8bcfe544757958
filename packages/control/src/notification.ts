import { DomainError, invalid } from "@berth/core";
import {
  type ChannelKind,
  type ChannelView,
  changedChannel,
  channelView,
  type DeliveryState,
  deliveryView,
  missingFields,
  type NotificationDelivery,
  TEST_NOTIFICATION,
} from "@berth/core/notification";
import type { Page, Paging } from "@berth/core/ports";
import { maySeeSecrets, requireAbility } from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { mapPage } from "./page.ts";

/** What a team is notified of, and where. */
export function notifications({ scope, stores, mailer, ids, sendNotification }: UseCaseContext) {
  const instance = { hasInstanceMail: mailer !== undefined };
  const seesSecrets = maySeeSecrets(scope);

  return {
    async get<Kind extends ChannelKind>(kind: Kind): Promise<ChannelView<Kind>> {
      requireAbility(scope, "read");
      return channelView(scope.teamId, await stores.notifications.settings(kind), { seesSecrets });
    },

    async update<Kind extends ChannelKind>(kind: Kind, sent: object): Promise<ChannelView<Kind>> {
      requireAbility(scope, "write");
      return await stores.transaction(async (tx) => {
        const current = await tx.notifications.settingsForUpdate(kind);
        const { message, ...channel } = changedChannel(kind, current, sent, instance);
        await tx.notifications.save(kind, channel);
        await tx.events.append({
          type: "notification.updated",
          resource_uuid: null,
          payload: { channel: kind, is_enabled: channel.isEnabled, fields: Object.keys(sent).sort() },
        });
        return channelView(scope.teamId, channel.settings, { seesSecrets, message });
      });
    },

    /**
     * Sends a test now, also if the channel is turned off.
     * @throws DomainError `request.invalid`, `notification.refused`, `notification.unreachable`
     */
    async test(kind: ChannelKind): Promise<{ readonly message: string }> {
      requireAbility(scope, "write");
      const settings = await stores.notifications.settings(kind);
      const missing = missingFields(kind, { ...settings }, instance);
      if (Object.keys(missing).length > 0) throw invalid(missing);
      const result = await sendNotification({
        ...{ uuid: ids.uuid(), kind, settings, notification: TEST_NOTIFICATION },
        memberAddresses: kind === "email" ? await stores.notifications.memberAddresses() : [],
      });
      if (result.isDelivered) return { message: "Test notification sent." };
      const { isFinal } = result;
      const problem = /[.!?]$/.test(result.problem) ? result.problem : `${result.problem}.`;
      throw isFinal
        ? new DomainError("notification.refused", `${problem} Check the channel's settings.`)
        : new DomainError("notification.unreachable", `${problem} Check the channel's address, and try again.`);
    },

    async deliveries({ channel, state, ...paging }: DeliveryFilter & Paging): Promise<Page<NotificationDelivery>> {
      requireAbility(scope, "read");
      return mapPage(await stores.notifications.deliveries({ kind: channel, state }, paging), deliveryView);
    },
  };
}

interface DeliveryFilter {
  readonly channel?: ChannelKind | undefined;
  readonly state?: DeliveryState | undefined;
}
