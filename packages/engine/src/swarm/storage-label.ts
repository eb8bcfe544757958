/** Label of the node that has the data of a storage. */
export const storageLabel = (storageUuid: string): string => `berth.storage.${storageUuid}`;

/** The condition for tasks that run where the data of a storage is. */
export const onStorage = (storageUuid: string): string => `node.labels.${storageLabel(storageUuid)}==here`;

/** The label of the storage that a condition asks for; `undefined`: it asks for none. */
export const storageLabelIn = (constraint: string): string | undefined => PIN.exec(constraint)?.[1];

const PIN = /^node\.labels\.(berth\.storage\..+)==here$/;
