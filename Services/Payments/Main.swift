import ServiceKit

/// The payments service: customers' payment methods, and charges that happen once.
@main
struct Payments {
    static func main() async { await runService(paymentsPlan, build: { try buildPayments($0, &$1) }) }
}
