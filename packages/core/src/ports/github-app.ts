import type { Page, Paging, Timestamps } from "./records.ts";

/** An app registered at GitHub, or at a GitHub Enterprise server, without its secrets. */
export interface GithubAppRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly team_id: number;
  readonly name: string;
  readonly organization: string | null;
  readonly api_url: string;
  readonly html_url: string;
  readonly custom_user: string;
  readonly custom_port: number;
  readonly app_id: number;
  readonly installation_id: number;
  readonly client_id: string;
  readonly is_system_wide: boolean;
  readonly private_key_id: number;
}

export interface GithubAppSecrets {
  readonly client_secret: string;
  /** Secret that GitHub signs its deliveries with. */
  readonly webhook_secret: string;
}

export type GithubAppFields = Omit<GithubAppRecord, "id" | "uuid" | "team_id" | keyof Timestamps>;

export interface GithubAppStore {
  list(paging?: Paging): Promise<Page<GithubAppRecord>>;
  find(id: number): Promise<GithubAppRecord | undefined>;
  findByUuid(uuid: string): Promise<GithubAppRecord | undefined>;
  /** Its uuid follows RFC 4122, unlike other uuids. @throws DomainError `resource.not_found` for the key */
  insert(app: GithubAppFields, secrets: GithubAppSecrets): Promise<GithubAppRecord>;
  /** @throws DomainError `resource.not_found` for the key */
  update(
    id: number,
    change: Partial<GithubAppFields>,
    secrets: Partial<GithubAppSecrets>,
  ): Promise<GithubAppRecord | undefined>;
  /** `used` if applications use it as their source. */
  deleteIfUnused(id: number): Promise<"deleted" | "used" | "missing">;
}
