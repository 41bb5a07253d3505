import NIOPosix

/// The phases of a run: without attack, under attack, after it, and with the harmless crowd.
struct DenialRun {
    let attack: any Attack
    let target: Target
    let plan: AttackPlan

    /// Time of shopping before the measurement, to fill caches and pools as in a running shop.
    private static let warmUp = Duration.seconds(3)
    private static let baseline = Duration.seconds(8)
    /// Time of shopping after the attack: its leftovers must not slow down the shoppers.
    private static let aftermath = Duration.seconds(5)
    private static let quiet = Duration.seconds(20)

    func run() async throws -> DenialResult {
        let group = MultiThreadedEventLoopGroup.singleton
        let master = try await Master(target, on: group)
        let shelf = try await Shelf.stocked(by: master)
        try await Listener.prepare(master)
        try await attack.prepare(master)
        var crowd = try Crowd(target, count: plan.shoppers, shelf: shelf, on: group)
        try await crowd.arrive()
        _ = await crowd.shop(until: .now + Self.warmUp)
        let baseline = await crowd.shop(until: .now + Self.baseline)

        let diskBytes = SuiteDisk.bytes(dataDirectory: target.dataDirectory)
        let gauge = try MemoryGauge(dataDirectory: target.dataDirectory)
        let watch = Task { await gauge.watch() }
        let (attack, target, plan) = (attack, target, plan)
        async let tally = AttackersProcess.run(attack, on: target, plan)
        let attacked = await crowd.shop(until: .now + .seconds(plan.seconds) + Self.aftermath)
        let attackers = try await tally
        try await Task.sleep(for: Self.quiet)
        watch.cancel()
        let end = gauge.end()
        let addedDiskBytes = SuiteDisk.bytes(dataDirectory: target.dataDirectory) - diskBytes

        let rate = Double(attackers.requests) / Double(plan.seconds)
        async let harmless = AttackersProcess.run(HarmlessLoad(requestsPerSecond: rate), on: target, plan, rate: rate)
        let crowded = await crowd.shop(until: .now + .seconds(plan.seconds))
        _ = try await harmless
        return DenialResult(
            attack: attack, plan: plan, attackers: attackers, baseline: baseline, attacked: attacked, crowded: crowded,
            memory: .init(before: gauge.start, peak: gauge.peakBytes, after: end.bytes),
            addedDiskBytes: addedDiskBytes,
            endedReplicas: end.ended)
    }
}
