import { Modal, type ModalProps } from "@mantine/core";
import { useEffect, useState } from "react";

/**
 * A dialog over the page. Until it is opened first nothing of it is drawn: pages have many that nobody opens, and a
 * closed one takes as long to draw as the button beside it.
 */
export function Dialog({ opened, ...dialog }: ModalProps) {
  const [wasOpened, setOpened] = useState(false);
  // It is opened only after it was drawn closed: what has the focus before gets it back.
  useEffect(() => {
    if (opened) setOpened(true);
  }, [opened]);
  return opened || wasOpened ? <Modal opened={opened && wasOpened} {...dialog} /> : null;
}
