import { z } from "zod";
import { closestNames } from "../closest-names.ts";
import { parseCompose } from "../compose/parse.ts";
import { DomainError } from "../errors.ts";
import type { ComposeText } from "./service-source.ts";

export const ServiceTemplate = z
  .object({
    type: z.string().describe("The value for `type` of a creation."),
    slogan: z.string().nullable().describe("A sentence that describes it."),
    documentation: z.string().nullable().describe("URL of its documentation."),
    category: z.string().nullable().describe("Category of its purpose."),
    tags: z.array(z.string()),
    aliases: z.array(z.string()).describe("Other values for `type` of a creation."),
    logo: z.string().nullable(),
    port: z.int().nullable().describe("Port of its first container."),
    containers: z.array(z.object({ name: z.string(), image: z.string().nullable() })),
  })
  .meta({ id: "ServiceTemplate", description: "A one-click service." });
export type ServiceTemplate = z.infer<typeof ServiceTemplate>;

/** Plain JSON, so that a build can write it. */
export interface TemplateRecord extends ServiceTemplate {
  /** The compose file. Hundreds of them are listed and few are used, so it is kept unparsed. */
  readonly text: string;
}

export const ServiceTemplateFilter = z.strictObject({
  search: z
    .string()
    .max(255)
    .optional()
    .describe("Only those whose type, aliases, slogan, category or tags contain all of these words."),
  category: z.string().max(255).optional().describe("Only those of this category."),
  tags: z.string().max(255).optional().describe("Only those with all of these tags, separated by commas."),
});
export type ServiceTemplateFilter = z.infer<typeof ServiceTemplateFilter>;

/**
 * Parses a template: a compose file that begins with comments such as `# slogan: ...`.
 * @param type Name of the file without its extension
 * @throws DomainError `setup.failed` with the problem of the template
 */
export function parseTemplate(type: string, text: string): TemplateRecord {
  const compose = templateCompose({ type, text });
  const said = headOf(text);
  const port = Number(said.get("port"));
  return {
    type,
    slogan: said.get("slogan") ?? null,
    documentation: said.get("documentation") ?? null,
    category: said.get("category")?.toLowerCase() ?? null,
    tags: wordsOf(said.get("tags") ?? "", ","),
    aliases: wordsOf(said.get("aliases") ?? "", ","),
    logo: said.get("logo") ?? null,
    port: Number.isInteger(port) && port > 0 ? port : null,
    containers: compose.containers.map(({ name, image }) => ({ name, image })),
    text,
  };
}

/** @throws DomainError `setup.failed` with the problem of the template */
export function templateCompose({ type, text }: Pick<TemplateRecord, "type" | "text">): ComposeText {
  const compose = parseCompose(text);
  if ("problems" in compose) {
    throw new DomainError("setup.failed", `The template ${type} cannot be used: ${compose.problems.join(" ")}`);
  }
  return { ...compose, text };
}

/** The comments at the beginning of the compose file. */
function headOf(text: string): ReadonlyMap<string, string> {
  const lines = text.split("\n");
  const end = lines.findIndex((line) => line.trim() !== "" && !line.startsWith("#"));
  const head = lines.slice(0, end === -1 ? lines.length : end);
  return new Map(
    head.flatMap((line) => {
      const [, key, value] = /^#\s*([a-z_]+):\s*(.+?)\s*$/.exec(line) ?? [];
      return key === undefined || value === undefined ? [] : [[key, value] as const];
    }),
  );
}

const wordsOf = (text: string, separator: string | RegExp): string[] =>
  text
    .toLowerCase()
    .split(separator)
    .map((word) => word.trim())
    .filter((word) => word !== "");

export function filterTemplates(
  templates: readonly TemplateRecord[],
  { search = "", category = "", tags = "" }: ServiceTemplateFilter,
): readonly TemplateRecord[] {
  const words = wordsOf(search, /\s+/);
  const wanted = wordsOf(tags, ",");
  const wantedCategory = category.trim().toLowerCase();
  return templates.filter((template) => {
    const said = [template.type, template.slogan ?? "", template.category ?? "", ...template.tags, ...template.aliases];
    const text = said.join(" ").toLowerCase();
    const isOfCategory = wantedCategory === "" || template.category === wantedCategory;
    return (
      isOfCategory && words.every((word) => text.includes(word)) && wanted.every((tag) => template.tags.includes(tag))
    );
  });
}

/** @throws DomainError `resource.not_found` with the existing templates and the closest names */
export function chosenTemplate(templates: readonly TemplateRecord[], type: string): TemplateRecord {
  const found =
    templates.find((template) => template.type === type) ?? templates.find(({ aliases }) => aliases.includes(type));
  if (found !== undefined) return found;
  const valid_service_types = templates.map((template) => template.type);
  const names = templates.flatMap((template) => [template.type, ...template.aliases]);
  const similar_service_types = closestNames(type, names);
  throw new DomainError("resource.not_found", "Invalid service type.", {
    details: { valid_service_types, similar_service_types },
  });
}

export const templateView = ({ text: _, ...template }: TemplateRecord): ServiceTemplate => template;
