import ServiceKit

/// The bag service: bags, orders and their checkout.
@main
struct Bag {
    static func main() async throws {
        let link = HostLink()
        await runService(bagPlan(link)) { try buildBag($0, &$1, link) }
    }
}
