/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that exports a few of LLVM's and MLIR's symbols, as TensorFlow and ROCm do. Whoever calls these
 * copies instead of his own is lost.
 */
#include <stdlib.h>

#define SYMBOL(name) \
  void name(void);   \
  void name(void) { abort(); }

SYMBOL(_ZN4llvm2cl6Option11addArgumentEv)
SYMBOL(_ZN4llvm2cl6Option3addEv)
SYMBOL(_ZN4llvm2cl23ParseCommandLineOptionsEiPKPKcNS_9StringRefEPNS_11raw_ostreamES2_b)
SYMBOL(_ZN4llvm12PassRegistry15getPassRegistryEv)
SYMBOL(_ZN4llvm11LLVMContextC1Ev)
SYMBOL(_ZN4llvm11LLVMContextC2Ev)
SYMBOL(
    _ZN4llvm14TargetRegistry12lookupTargetERKNS_6TripleERNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE)
SYMBOL(_ZN4llvm18report_fatal_errorEPKcb)
SYMBOL(_ZN4llvm4errsEv)
SYMBOL(_ZN4llvm4outsEv)
SYMBOL(_ZN4llvm3sys5Mutex4lockEv)
SYMBOL(_ZN4mlir11MLIRContextC1ENS0_9ThreadingE)
SYMBOL(_ZN4mlir11MLIRContextC2ENS0_9ThreadingE)
SYMBOL(LLVMInitializeX86Target)
SYMBOL(LLVMInitializeNVPTXTarget)
SYMBOL(LLVMInitializeAMDGPUTarget)
SYMBOL(LLVMContextCreate)
