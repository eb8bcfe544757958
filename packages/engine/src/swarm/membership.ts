import { DomainError } from "@berth/core";
import type { ClusterMembership } from "@berth/core/ports";
import { reasonOf, statusCodeOf } from "@berth/docker-client";
import { addressRanges, redactor } from "@berth/host";
import type Docker from "dockerode";
import { withDomainError } from "../docker/with-domain-errors.ts";

/** Makes a machine's engine a node of a swarm. @param server Its name, for messages. */
export function swarmMembership(docker: Docker, server: string): ClusterMembership {
  /** An attempt of which Berth did not see the end may have done it. */
  const unlessDone = async (
    call: () => Promise<unknown>,
    isDone: (node: SwarmInfo) => Promise<boolean>,
  ): Promise<void> => {
    try {
      await call();
    } catch (cause) {
      if (!(cause instanceof Error) || !/already part of a swarm/.test(reasonOf(cause))) throw cause;
      const { Swarm: node } = (await docker.info()) as { readonly Swarm: SwarmInfo }; // Typed as any by the library.
      if (await isDone(node)) return;
      const message = `Server ${server} is a node of another Docker Swarm. Validate it to use that, or run docker swarm leave --force on it.`;
      throw new DomainError("resource.state", message, { cause });
    }
  };
  const attempt = (what: string, call: () => Promise<unknown>, secrets: readonly string[] = []) =>
    withDomainError(server, async () => {
      try {
        await call();
      } catch (cause) {
        if (!(cause instanceof Error) || statusCodeOf(cause) === undefined) throw cause;
        // The engine of the machine writes the reason, and it was given the secrets.
        const message = `Server ${server} could not ${what}: ${redactor(secrets)(reasonOf(cause))}`;
        throw new DomainError("resource.state", message, { cause });
      }
    });
  return {
    async create({ address, addressPool }) {
      if (addressPool !== undefined && addressRanges([addressPool])(address)) throw overlapping(addressPool, address);
      const pool = addressPool === undefined ? {} : { DefaultAddrPool: [addressPool], SubnetSize: SUBNET_BITS };
      const options = { ListenAddr: LISTEN, AdvertiseAddr: address, ...pool };
      const hasCreated = async (node: SwarmInfo) => {
        if (node.ControlAvailable !== true || node.Nodes !== 1) return false;
        if (IP_ADDRESS.test(address) && node.NodeAddr !== address) return false;
        const { DefaultAddrPool: pools } = (await docker.swarmInspect()) as SwarmAnswer; // Typed as any by the library.
        return addressPool === undefined || pools?.includes(addressPool) === true;
      };
      await attempt("create a cluster", () => unlessDone(() => docker.swarmInit(options), hasCreated));
    },
    join({ token, managers, address, nodeIds }) {
      const options = { ListenAddr: LISTEN, AdvertiseAddr: address, RemoteAddrs: [...managers], JoinToken: token };
      const hasJoined = async ({ NodeID: id = "" }: SwarmInfo) => nodeIds.includes(id);
      return attempt("join the cluster", () => unlessDone(() => docker.swarmJoin(options), hasJoined), [token]);
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

/** Its containers could not reach the machines, nor the machines each other. */
function overlapping(pool: string, address: string): DomainError {
  const message = `The range ${pool} contains the server's own address ${address}. Choose one that no other network uses, such as 10.20.0.0/16.`;
  return new DomainError("request.invalid", message, { fields: { address_pool: [message] } });
}

interface SwarmInfo {
  readonly NodeID?: string;
  readonly NodeAddr?: string;
  readonly ControlAvailable?: boolean;
  readonly Nodes?: number;
}

interface SwarmAnswer {
  readonly DefaultAddrPool?: readonly string[] | null;
}

/** Else it is the name of a machine or of an interface, which has none of these. */
const IP_ADDRESS = /^[\d.]+$|:/;
const LISTEN = "0.0.0.0:2377"; // Swarm's own port for managers.
/** Networks of some 250 addresses. */
const SUBNET_BITS = 24;
