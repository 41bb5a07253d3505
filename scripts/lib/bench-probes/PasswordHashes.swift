import ArgumentParser
import Cryptography
import Dispatch
import Synchronization

/// Password hashes only, with the parameters of `users`, at a given concurrency: the upper bound for sign-ins.
struct PasswordHashes: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "password-hash", abstract: "Hashes passwords with scrypt and prints hashes per second.")

    @Option(help: "Passwords hashed at once.") var threads = 1
    @Option(help: "scrypt's p at N=2^14, r=8; SATCHEL_PASSWORD_WORK.") var work = 5
    @Option var seconds = 3.0

    /// The counter shared by the threads.
    private final class Count: Sendable {
        let hashes = Atomic<Int>(0)
        let failures = Atomic<Int>(0)
    }

    func validate() throws {
        guard (1...64).contains(threads), (1...64).contains(work) else {
            throw ValidationError("--threads and --work must be between 1 and 64.")
        }
    }

    func run() throws {
        let count = Count()
        let (work, start) = (self.work, ContinuousClock.now)
        let end = start + .seconds(seconds)
        DispatchQueue.concurrentPerform(iterations: threads) { _ in
            while ContinuousClock.now < end {
                guard Self.hash(work) else {
                    count.failures.wrappingAdd(1, ordering: .relaxed)
                    return
                }
                count.hashes.wrappingAdd(1, ordering: .relaxed)
            }
        }
        guard count.failures.load(ordering: .relaxed) == 0 else { throw ExitCode.failure }
        let passed = (ContinuousClock.now - start) / .seconds(1)
        print(Double(count.hashes.load(ordering: .relaxed)) / passed)
    }

    /// Hashes one password with the parameters of `PasswordHash` in `Services/Users/Passwords`; returns whether it
    /// succeeded.
    private static func hash(_ work: Int) -> Bool {
        let key = try? KDF.Scrypt.deriveKey(
            from: Array("a-long-secret".utf8), salt: [UInt8](repeating: 7, count: 16), outputByteCount: 32,
            rounds: 1 << 14, blockSize: 8, parallelism: work)
        return key != nil
    }
}
