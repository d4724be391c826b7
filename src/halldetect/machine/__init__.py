"""What belongs to the machine: devices, locks, clocks, and the store of models.

A name stands for one digest. `store.pull` looks in the cache, then on the hub, then in the package
registry, compares the digest and moves the file into place in one step; a failure leaves nothing
behind. HALLDETECT_HOME moves the cache, HALLDETECT_OFFLINE forbids the network.
"""
