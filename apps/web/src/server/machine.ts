import { bytes } from "../parts/units.ts";

/** What the last validation of a server found on its machine, as rows of its page. */
export function machineRows(
  metadata: Readonly<Record<string, unknown>> | null,
): readonly (readonly [string, string])[] {
  if (metadata === null) return [];
  const { engine_version, operating_system, architecture, cpus, memory_bytes, disk_free_bytes, disk_total_bytes } =
    metadata;
  const rows: (readonly [string, string])[] = [];
  const system = [operating_system, architecture].filter((text) => typeof text === "string" && text !== "");
  if (system.length > 0) rows.push(["System", system.join(", ")]);
  if (typeof engine_version === "string" && engine_version !== "") rows.push(["Docker", engine_version]);
  if (typeof cpus === "number" && typeof memory_bytes === "number") {
    rows.push(["Size", `${cpus} ${cpus === 1 ? "CPU" : "CPUs"}, ${bytes(memory_bytes)} memory`]);
  }
  if (typeof disk_free_bytes === "number" && typeof disk_total_bytes === "number") {
    rows.push(["Disk", `${bytes(disk_free_bytes)} of ${bytes(disk_total_bytes)} free at the last check`]);
  }
  return rows;
}
