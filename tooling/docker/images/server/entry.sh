#!/bin/bash
# AUTHORIZED_KEY: whose key lets root in. NO_DOCKER=1: no engine. DOCKERD_ARGS: more arguments for it.
# Wants all capabilities that the machine has, and no seccomp profile.
set -e
for place in /proc/sys /proc/irq /proc/bus; do
  mount -o remount,rw $place 2>/dev/null || umount $place 2>/dev/null || true
done
mount -o remount,rw /sys 2>/dev/null || true
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  mount -o remount,rw /sys/fs/cgroup
else
  # Version 1: what the outer engine mounted shows only our own part, read only.
  umount -R /sys/fs/cgroup 2>/dev/null || true
  mount -t tmpfs cgroup /sys/fs/cgroup
  for controller in $(awk '!/^#/ && $4 == 1 { print $1 }' /proc/cgroups); do
    mkdir -p "/sys/fs/cgroup/$controller"
    mount -t cgroup -o "$controller" cgroup "/sys/fs/cgroup/$controller" 2>/dev/null || rmdir "/sys/fs/cgroup/$controller"
  done
fi

mkdir -p /run/sshd
install -d -m 700 /root/.ssh
ssh-keygen -A >/dev/null
if [ -n "$AUTHORIZED_KEY" ]; then (umask 077 && echo "$AUTHORIZED_KEY" >/root/.ssh/authorized_keys); fi
/usr/sbin/sshd -E /var/log/sshd.log

# A server that lost its power left them.
rm -f /var/run/docker.pid /var/run/docker/containerd/*.pid
[ "$NO_DOCKER" != 1 ] || exec sleep infinity
exec dockerd --cgroup-parent "/srv-$(hostname)" --insecure-registry 0.0.0.0/0 $DOCKERD_ARGS >/var/log/dockerd.log 2>&1
