import NIOPosix

/// The phases of a run: the shop without attack, under attack, after it, and with as many harmless requests.
struct DenialRun {
    let attack: any Attack
    let target: Target
    let plan: AttackPlan

    /// Shopping before anything is measured, so that caches and pools are what they are in a shop that is open.
    private static let warmUp = Duration.seconds(3)
    private static let baseline = Duration.seconds(8)
    /// Shopping goes on after the attack: what it left behind must not be in the way.
    private static let aftermath = Duration.seconds(5)
    private static let quiet = Duration.seconds(20)

    func run() async throws -> DenialResult {
        let group = MultiThreadedEventLoopGroup.singleton
        let master = try await Master(target, on: group)
        let shelf = try await Shelf.stocked(by: master)
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
        async let harmless = AttackersProcess.run(HarmlessCrowd(requestsPerSecond: rate), on: target, plan, rate: rate)
        let crowded = await crowd.shop(until: .now + .seconds(plan.seconds))
        _ = try await harmless
        return DenialResult(
            attack: attack, plan: plan, attackers: attackers, baseline: baseline, attacked: attacked, crowded: crowded,
            memory: .init(before: gauge.startBytes, peak: gauge.peakBytes, after: end.bytes),
            addedDiskBytes: addedDiskBytes,
            endedReplicas: end.ended)
    }
}
