import { DomainError } from "@berth/core";
import type { ClusterMembership } from "@berth/core/ports";
import { reasonOf, statusCodeOf } from "@berth/docker-client";
import type Docker from "dockerode";
import { withDomainError } from "../docker/with-domain-errors.ts";

/** Makes a machine's engine a node of a swarm. @param server Its name, for messages. */
export function swarmMembership(docker: Docker, server: string): ClusterMembership {
  const attempt = (what: string, call: () => Promise<unknown>) =>
    withDomainError(server, async () => {
      try {
        await call();
      } catch (cause) {
        if (!(cause instanceof Error) || statusCodeOf(cause) === undefined) throw cause;
        const message = `Server ${server} could not ${what}: ${reasonOf(cause)}`;
        throw new DomainError("resource.state", message, { cause });
      }
    });
  return {
    create({ address, addressPool }) {
      const pool = addressPool === undefined ? {} : { DefaultAddrPool: [addressPool], SubnetSize: SUBNET_BITS };
      const options = { ListenAddr: LISTEN, AdvertiseAddr: address, ...pool };
      return attempt("create a cluster", () => docker.swarmInit(options));
    },
    join({ token, managers, address }) {
      const options = { ListenAddr: LISTEN, AdvertiseAddr: address, RemoteAddrs: [...managers], JoinToken: token };
      return attempt("join the cluster", () => docker.swarmJoin(options));
    },
    leave: ({ isForced }) =>
      attempt("leave its cluster", async () => {
        try {
          await docker.swarmLeave({ force: isForced });
        } catch (cause) {
          if (!(cause instanceof Error) || !/not part of a swarm/.test(reasonOf(cause))) throw cause;
        }
      }),
  };
}

const LISTEN = "0.0.0.0:2377"; // Swarm's own port for managers.
/** Networks of some 250 addresses. */
const SUBNET_BITS = 24;
