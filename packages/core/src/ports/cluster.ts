/** A machine of a cluster, as its managers see it. */
export interface SeenClusterNode {
  readonly id: string;
  readonly hostname: string;
  readonly address: string | null;
  readonly isManager: boolean;
  readonly isLeader: boolean;
  /** Of a manager: the others reach it. */
  readonly isReachable: boolean;
  readonly availability: "active" | "pause" | "drain";
  readonly state: string;
  readonly engineVersion: string | null;
  readonly cpus: number | null;
  readonly memoryBytes: number | null;
  /** Containers of this instance's resources that should run on it. */
  readonly containers: number;
  /** Those that still run on it though they should not, as after a drain. */
  readonly leaving: number;
  /** The same by uuid of their resource. */
  readonly resources: ReadonlyMap<string, number>;
  /** Ids of the volumes and folders whose data is on it and nowhere else. */
  readonly storages: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  /** Of its machine, a moment ago; `null` where Berth does not reach it. */
  readonly load: NodeLoad | null;
}

/** How much a machine has to do. */
export interface NodeLoad {
  /** Processes that run or wait for a processor, over the last minute. */
  readonly average: number;
  readonly memoryUsedBytes: number;
}

/** The machines of a cluster. Each call rejects only with a `DomainError`. */
export interface ClusterOperations {
  /** @throws DomainError `cluster.no_leader` if they cannot be known for certain */
  nodes(): Promise<readonly SeenClusterNode[]>;
  /** Resolves when its nodes or containers may have changed, or on `signal`. */
  changed(signal: AbortSignal): Promise<void>;
  /** @throws DomainError `cluster.no_leader`, with the moment at which this was noticed */
  requireLeader(): Promise<void>;
  /** @throws DomainError `engine.failed` with the reason of the cluster */
  change(
    nodeId: string,
    change: {
      readonly role?: "manager" | "worker" | undefined;
      readonly availability?: SeenClusterNode["availability"] | undefined;
      /** Sets these and removes those that are `null`. */
      readonly labels?: Readonly<Record<string, string | null>> | undefined;
    },
  ): Promise<void>;
  /** Removes a node that has left. Idempotent. */
  remove(nodeId: string): Promise<void>;
  /** What a machine needs to join. */
  invitation(role: "manager" | "worker"): Promise<ClusterInvitation>;
  /** Makes the tokens of all earlier invitations worthless. Nodes that joined stay. */
  rotateTokens(): Promise<void>;
}

export interface ClusterInvitation {
  /** Secret. */
  readonly token: string;
  /** Addresses of managers, with port. */
  readonly managers: readonly string[];
}

/** Membership of a machine in a cluster. Each call rejects only with a `DomainError`. */
export interface ClusterMembership {
  /**
   * Makes the machine the first manager of a new cluster. Idempotent.
   * @param options.address By which other machines reach it.
   * @param options.addressPool CIDR for the networks of the cluster. Default: the engine's.
   */
  create(options: { readonly address: string; readonly addressPool?: string | undefined }): Promise<void>;
  /**
   * Idempotent.
   * @param options.nodeIds Those with the role already. The machine may be one, after an attempt that was interrupted.
   */
  join(options: ClusterInvitation & { readonly address: string; readonly nodeIds: readonly string[] }): Promise<void>;
  /** Idempotent. */
  leave(options: { readonly isForced: boolean }): Promise<void>;
}
