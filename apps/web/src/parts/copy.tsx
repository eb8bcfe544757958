import { Button, Group, Text } from "@mantine/core";
import { useState } from "react";

/** Without https browsers offer no clipboard API: a selected text field is used instead. */
async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

export function CopyButton({ text, label = "Copy" }: { readonly text: string; readonly label?: string }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <Button
      variant="default"
      size="compact-xs"
      style={{ flex: "none" }}
      onClick={async () => {
        await copyText(text);
        setCopied(true);
        setTimeout(() => setCopied(false), 2000);
      }}
    >
      {isCopied ? "Copied" : label}
    </Button>
  );
}

/** A text with a copy button; secrets are hidden at first. */
export function CopyText({ text, isSecret = false }: { readonly text: string; readonly isSecret?: boolean }) {
  const [isShown, setShown] = useState(!isSecret);
  return (
    <Group gap="xs" wrap="nowrap" align="baseline">
      <Text span className={isShown ? "mono break" : "mono"} style={isShown ? undefined : { whiteSpace: "nowrap" }}>
        {isShown ? text : "••••••••"}
      </Text>
      {isSecret && (
        <Button variant="default" size="compact-xs" style={{ flex: "none" }} onClick={() => setShown(!isShown)}>
          {isShown ? "Hide" : "Show"}
        </Button>
      )}
      <CopyButton text={text} />
    </Group>
  );
}
