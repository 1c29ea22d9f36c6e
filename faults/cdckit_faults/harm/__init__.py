"""What does harm: to lines, disks, memory and clocks."""
