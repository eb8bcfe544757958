import { Avatar } from "@mantine/core";
import icons from "./template-icons.json";

// The paths are of Simple Icons (simpleicons.org, CC0 1.0), each 24 by 24. They come along with the page, since its
// policy allows nothing from elsewhere.
const slugs: Readonly<Record<string, string>> = icons.templates;
const paths: Readonly<Record<string, string>> = icons.paths;

/** The icon of what a template starts, or its first letter where there is no free one. */
export function TemplateIcon({ type }: { readonly type: string }) {
  const path = paths[slugs[type] ?? ""];
  return (
    <Avatar radius="sm" size={36} color="indigo" variant="light" aria-hidden>
      {path === undefined ? (
        type.slice(0, 1).toUpperCase()
      ) : (
        <svg width={20} height={20} viewBox="0 0 24 24" fill="currentColor" aria-hidden focusable="false">
          <path d={path} />
        </svg>
      )}
    </Avatar>
  );
}
