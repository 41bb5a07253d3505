import ServiceKit

/// The payments service: customers' payment methods, and charges that happen once.
package enum PaymentsProgram {
    package static func main() async { await runService(paymentsPlan, build: { try buildPayments($0, &$1) }) }
}
